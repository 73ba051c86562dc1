//! Which hosts a run may connect to: the entries of `network` in the configuration, the host that a
//! client names, and the address that its name resolves to.

mod address_scope;
mod host_rules;
mod target_host;

pub use address_scope::is_public;
pub use host_rules::{AllowedHost, HostRules, HostVerdict};
pub use target_host::{HostError, TargetHost};
