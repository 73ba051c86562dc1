//! `[server]`: where programs and browsers get in.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

/// The port nobody had to ask for.
const PORT: u16 = 7474;

/// Where programs and browsers get in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// The address to listen at, or `off`.
    pub listen: Option<Listen>,
    /// The file with the operator's token, relative to the data folder. It is made if it is not
    /// there, unless the address can be reached from elsewhere.
    pub token_file: Option<PathBuf>,
    /// Names this machine is called by, beside `localhost` and addresses.
    pub hosts: Vec<String>,
}

/// Where to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    /// Nowhere.
    Off,
    /// At this address; port 0 is any that is free.
    At(SocketAddr),
}

impl Listen {
    /// Where a server listens of which nothing is said.
    pub const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT);

    /// Parses an address, as `127.0.0.1:7474`, `[::1]:7474`, `localhost:7474` or `:7474`, or `off`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let local = |rest: &str| rest.strip_prefix(':').and_then(|port| port.parse().ok());
        let port = local(text).or_else(|| local(text.strip_prefix("localhost")?));
        let parsed = port.map(|port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
        parsed.or_else(|| text.parse().ok()).map(Self::At).ok_or_else(|| {
            format!(
                "{text:?} is no address; write 127.0.0.1:7474, 127.0.0.1:0 for any port, or off"
            )
        })
    }
}

impl<'de> Deserialize<'de> for Listen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Listen {
    fn schema_name() -> Cow<'static, str> {
        "Listen".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "An address with its port, as `127.0.0.1:7474`; port 0 is any that is free; `off` is none.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_in_the_usual_ways() {
        let at = |text: &str| match Listen::parse(text) {
            Ok(Listen::At(address)) => address.to_string(),
            Ok(Listen::Off) => "off".to_owned(),
            Err(wrong) => wrong,
        };
        assert_eq!(at("127.0.0.1:0"), "127.0.0.1:0");
        assert_eq!(at("localhost:80"), "127.0.0.1:80");
        assert_eq!(at(":80"), "127.0.0.1:80");
        assert_eq!(at("[::1]:80"), "[::1]:80");
        assert_eq!(at("off"), "off");
        for bad in ["", "7474", "localhost", "127.0.0.1:70000", "example.com:80"] {
            assert!(at(bad).contains("is no address"), "{bad:?}");
        }
    }
}
