//! The files through which the daemon, shims and commands find each other and their runs: the
//! folder of an attempt, the live shims, the daemon's lock and its HTTP address. It starts nothing and
//! holds no rule.

pub mod active_config;
pub mod attempt_files;
pub mod check_spec;
pub mod daemon_lock;
pub mod dialect_files;
pub mod http_endpoint;
pub mod live_shims;
pub mod lost_contact;
pub mod run_ref;
pub mod sandbox_spec;
pub mod shim_spec;
pub mod socket_protocol;
pub mod trust_record;
pub mod unix_socket;
