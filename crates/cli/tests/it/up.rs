//! `adjutant up` with real agents, and the failures that a daemon must survive.

pub(crate) mod project;

mod agent_environment;
mod authority;
mod budgets;
mod change_detection;
mod chaos;
mod checks;
mod checks_as_agent;
mod clock;
mod concurrent_runs;
mod config_reload;
mod constraints;
mod dialect_reports;
mod dialects;
mod full_disk;
mod idle_summary;
mod impostors;
mod killed;
mod late_reports;
mod misbehaving;
mod missing_programs;
mod notifications;
mod notifications_killed;
mod removed_folders;
mod run_socket;
mod sandbox;
mod signals;
mod stopped_shims;
mod suspended;
mod telemetry;
mod tls;
mod two_daemons;
mod unsettled_work;
mod webhook_receiver;
pub(crate) mod worktrees;
mod worktrees_killed;
