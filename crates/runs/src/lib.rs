//! Agents as processes: how each kind is started and read, its work order, the shim that owns one
//! run, the supervisor that starts, adopts and stops shims, and the sandbox.
//!
//! It does not know the engine: what a run says is in files before the daemon is told.

pub mod agent;
pub mod check_command;
pub mod check_shim;
pub mod network;
pub mod remote_agent;
pub mod report_document;
pub mod sandbox;
pub mod script;
pub mod shim;
pub mod summary_file;
pub mod supervisor;
pub mod task_context;
pub mod work_order;
