//! Every fuzz target replays its corpus and mutations of it.

mod corpus;
