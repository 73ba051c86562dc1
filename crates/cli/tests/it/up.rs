//! The daemon as it is used: `adjutant up` with real agents, and everything that can happen to it.

mod stage;

mod budgets;
mod chaos;
mod checks;
mod clock;
mod constraints;
mod dialects;
mod full_disk;
mod in_other_words;
mod killed;
mod late;
mod misbehaving;
mod notices;
mod receiver;
mod sandbox;
mod signals;
mod suspended;
mod taken_away;
mod telemetry;
mod tls;
mod together;
mod told;
mod told_killed;
mod two;
mod work_killed;
mod worktrees;
