//! Every fuzz target replays its corpus, and inputs made from it.

mod corpus;
