//! The host that a client or the configuration names.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest name of a host.
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// A host, by name or by address. There is one form of each: names are in lower case and without a
/// dot at their end, and IPv4 addresses that are mapped to IPv6 are IPv4 addresses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TargetHost {
    Name(String),
    Address(IpAddr),
}

/// Why a text names no host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostError {
    Empty,
    TooLong,
    Characters,
    /// Some programs read `127.1`, `0x7f.1` or `2130706433` as an address, and others as a name.
    ShortAddress,
    Ipv6,
    Port,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "is empty",
            Self::TooLong => "is too long for the name of a host",
            Self::Characters => "has characters that are not part of the name of a host",
            Self::ShortAddress => "is not a complete IPv4 address of four decimal numbers",
            Self::Ipv6 => "is not an IPv6 address without a zone",
            Self::Port => "has a port that is not a number from 1 to 65535",
        })
    }
}

impl TargetHost {
    /// Parses a host without a port. An IPv6 address may be in brackets.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if let Some(inner) = text.strip_prefix('[') {
            return parse_v6(inner.strip_suffix(']').ok_or(HostError::Ipv6)?);
        }
        if text.contains(':') {
            return parse_v6(text);
        }
        parse_name(text)
    }

    /// Splits `host:port`. An IPv6 address with a port is in brackets.
    pub fn parse_with_port(text: &str) -> Result<(Self, Option<u16>), HostError> {
        let (host, port) = match text.strip_prefix('[') {
            Some(inner) => {
                let (host, rest) = inner.split_once(']').ok_or(HostError::Ipv6)?;
                match rest.strip_prefix(':') {
                    Some(port) => (parse_v6(host)?, Some(port)),
                    None if rest.is_empty() => (parse_v6(host)?, None),
                    None => return Err(HostError::Ipv6),
                }
            }
            None => match text.split_once(':') {
                Some((_, rest)) if rest.contains(':') => (parse_v6(text)?, None),
                Some((host, port)) => (parse_name(host)?, Some(port)),
                None => (parse_name(text)?, None),
            },
        };
        Ok((host, port.map(parse_port).transpose()?))
    }

    /// Returns whether this names the machine itself.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost",
            Self::Address(address) => address.is_loopback(),
        }
    }

    /// Writes the host with a port, as a URL has it.
    pub fn with_port(&self, port: u16) -> String {
        match self {
            Self::Address(IpAddr::V6(address)) => format!("[{address}]:{port}"),
            Self::Address(IpAddr::V4(_)) | Self::Name(_) => format!("{self}:{port}"),
        }
    }
}

impl fmt::Display for TargetHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

fn parse_v6(text: &str) -> Result<TargetHost, HostError> {
    let address: Ipv6Addr = text.parse().map_err(|_| HostError::Ipv6)?;
    Ok(TargetHost::Address(address.to_canonical()))
}

/// Parses decimal digits only: no sign and no spaces.
fn parse_port(text: &str) -> Result<u16, HostError> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|port| *port > 0 && is_number);
    port.ok_or(HostError::Port)
}

fn parse_name(text: &str) -> Result<TargetHost, HostError> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    if name.is_empty() {
        return Err(HostError::Empty);
    }
    if name.len() > NAME_BYTES_MAX || name.split('.').any(|label| label.len() > LABEL_BYTES_MAX) {
        return Err(HostError::TooLong);
    }
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.split('.').any(|label| label.is_empty() || !label.bytes().all(is_name)) {
        return Err(HostError::Characters);
    }
    match name.parse::<Ipv4Addr>() {
        Ok(address) => Ok(TargetHost::Address(address.into())),
        Err(_) if ends_in_number(&name) => Err(HostError::ShortAddress),
        Err(_) => Ok(TargetHost::Name(name)),
    }
}

/// Returns whether the last label is a number, so that the name would be read as an address.
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let is_decimal = last.bytes().all(|byte| byte.is_ascii_digit());
    let hex = last.strip_prefix("0x");
    is_decimal || hex.is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> TargetHost {
        TargetHost::Name(text.to_owned())
    }

    fn address(text: &str) -> TargetHost {
        TargetHost::Address(text.parse().expect("an address"))
    }

    #[test]
    fn host_has_one_form() {
        let parse = |text: &str| TargetHost::parse(text).expect("a host");
        assert_eq!(parse("API.Example.COM."), name("api.example.com"));
        assert_eq!(parse("127.0.0.1"), address("127.0.0.1"));
        assert_eq!(parse("[::1]"), address("::1"));
        assert_eq!(parse("::ffff:10.0.0.1"), address("10.0.0.1"));
        assert_eq!(parse("[0:0:0:0:0:0:0:1]").to_string(), "::1");
        assert_eq!(parse("::1").with_port(80), "[::1]:80");
        assert_eq!(parse("a.b").with_port(80), "a.b:80");
    }

    #[test]
    fn host_with_port_is_split() {
        let parse = |text: &str| TargetHost::parse_with_port(text).expect("a host");
        assert_eq!(parse("example.com"), (name("example.com"), None));
        assert_eq!(parse("example.com:8443"), (name("example.com"), Some(8443)));
        assert_eq!(parse("127.0.0.1:11434"), (address("127.0.0.1"), Some(11434)));
        assert_eq!(parse("[::1]:80"), (address("::1"), Some(80)));
        assert_eq!(parse("::1"), (address("::1"), None));
        for bad in ["a:0", "a:", "a:65536", "a:+80", "a: 80", "a:8 0", "[::1]80", "[::1]:x", "::1:"]
        {
            assert!(TargetHost::parse_with_port(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn host_that_others_could_read_differently_is_refused() {
        for (bad, why) in [
            ("", HostError::Empty),
            (".", HostError::Empty),
            ("a..b", HostError::Characters),
            ("a.b..", HostError::Characters),
            ("*.example.com", HostError::Characters),
            ("user@example.com", HostError::Characters),
            ("example.com/x", HostError::Characters),
            ("example.com\r\nX", HostError::Characters),
            ("example.com\0", HostError::Characters),
            ("exa mple.com", HostError::Characters),
            ("ex\u{e4}mple.com", HostError::Characters),
            ("example.com%2e", HostError::Characters),
            ("127.1", HostError::ShortAddress),
            ("2130706433", HostError::ShortAddress),
            ("0x7f.0.0.1", HostError::ShortAddress),
            ("0177.0.0.1", HostError::ShortAddress),
            ("127.0.0.0x1", HostError::ShortAddress),
            ("1.2.3.4.5", HostError::ShortAddress),
            ("[fe80::1%eth0]", HostError::Ipv6),
            ("fe80::1%1", HostError::Ipv6),
            ("[127.0.0.1]", HostError::Ipv6),
            ("[::1", HostError::Ipv6),
        ] {
            assert_eq!(TargetHost::parse(bad), Err(why), "{bad:?}");
        }
        let long = "a".repeat(64);
        assert_eq!(TargetHost::parse(&long), Err(HostError::TooLong));
        assert_eq!(
            TargetHost::parse(&"a.".repeat(127)),
            Ok(name("a.".repeat(127).trim_end_matches('.')))
        );
        assert_eq!(TargetHost::parse(&"a.".repeat(128)), Err(HostError::TooLong));
    }
}
