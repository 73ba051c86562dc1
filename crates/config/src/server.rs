//! `[server]`: where the HTTP server listens and who may use it.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

/// The default port.
const PORT: u16 = 7474;

/// The HTTP server and the board.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// The address to listen at, or `off`. The default is `127.0.0.1:7474`, or any free port if that
    /// is in use.
    pub listen: Option<ListenSetting>,
    /// The file with the operator's token, relative to the data folder. It is created if it is
    /// missing, unless other machines can reach the address.
    pub token_file: Option<PathBuf>,
    /// Host names of this machine that callers may use, besides `localhost` and IP addresses.
    pub hosts: Vec<String>,
    /// The file with the TLS certificate and its chain in PEM format, relative to the data folder.
    /// Without it, only this machine can be served, unless `up` is called with `--insecure`.
    pub tls_cert: Option<PathBuf>,
    /// The file with the key of the certificate in PEM format, relative to the data folder.
    pub tls_key: Option<PathBuf>,
}

impl Server {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            return Err("`tls_cert` and `tls_key` must be set together".to_owned());
        }
        Ok(())
    }
}

/// Where the HTTP server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenSetting {
    Off,
    /// Port 0 means any free port.
    At(SocketAddr),
}

impl ListenSetting {
    /// The address if the configuration gives none.
    pub const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT);

    /// Parses `127.0.0.1:7474`, `[::1]:7474`, `localhost:7474`, `:7474` or `off`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let local = |rest: &str| rest.strip_prefix(':').and_then(|port| port.parse().ok());
        let port = local(text).or_else(|| local(text.strip_prefix("localhost")?));
        let parsed = port.map(|port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
        parsed.or_else(|| text.parse().ok()).map(Self::At).ok_or_else(|| {
            format!(
                "{text:?} is not an address; use 127.0.0.1:7474, 127.0.0.1:0 for any free port, or off"
            )
        })
    }
}

impl<'de> Deserialize<'de> for ListenSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for ListenSetting {
    fn schema_name() -> Cow<'static, str> {
        "Listen".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "An address with a port, e.g. `127.0.0.1:7474`; port 0 is any free port, and `off` is no server.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_address_is_parsed_in_the_usual_forms() {
        let at = |text: &str| match ListenSetting::parse(text) {
            Ok(ListenSetting::At(address)) => address.to_string(),
            Ok(ListenSetting::Off) => "off".to_owned(),
            Err(wrong) => wrong,
        };
        assert_eq!(at("127.0.0.1:0"), "127.0.0.1:0");
        assert_eq!(at("localhost:80"), "127.0.0.1:80");
        assert_eq!(at(":80"), "127.0.0.1:80");
        assert_eq!(at("[::1]:80"), "[::1]:80");
        assert_eq!(at("off"), "off");
        for bad in ["", "7474", "localhost", "127.0.0.1:70000", "example.com:80"] {
            assert!(at(bad).contains("is not an address"), "{bad:?}");
        }
    }
}
