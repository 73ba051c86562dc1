//! The network of a run that may connect to listed hosts only.
//!
//! The run is in a network namespace with nothing but its own loopback interface. Outside it, in the
//! shim, the [`NetworkProxy`] listens on a Unix socket and connects to allowed hosts. Inside it, a
//! [`forwarder`] listens on a port of the loopback interface, which the proxy variables name, and
//! relays to the socket. Which hosts are allowed is decided in [`adjutant_core::network`].

pub mod forwarder;
mod proxy;
pub mod proxy_request;
mod relay;
pub(crate) mod sandbox_proxy;

pub use proxy::{NetworkProxy, RefusedTarget};
pub use sandbox_proxy::SandboxProxy;

/// The port that the forwarder listens on, on the loopback interface of the run's own namespace.
pub const FORWARDER_PORT: u16 = 3128;

/// Returns the environment variables by which programs find the proxy. Listed ports of this machine
/// are forwarded as they are, so no proxy is used for them.
pub fn proxy_variables() -> Vec<(String, String)> {
    let proxy = format!("http://127.0.0.1:{FORWARDER_PORT}");
    let direct = "localhost,127.0.0.1,::1";
    let pairs = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(|name| (name, &*proxy));
    let both = |(name, value): (&str, &str)| {
        [(name.to_owned(), value.to_owned()), (name.to_ascii_lowercase(), value.to_owned())]
    };
    pairs.into_iter().chain([("NO_PROXY", direct)]).flat_map(both).collect()
}
