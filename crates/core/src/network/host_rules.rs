//! The hosts that a run may connect to.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::address_scope::is_public;
use super::target_host::{HostError, TargetHost};

/// The ports of an entry that names none.
const DEFAULT_PORTS: [u16; 2] = [443, 80];

/// An entry of the list: a host, and the port if it names one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllowedHost {
    host: TargetHost,
    port: Option<u16>,
}

/// The hosts that a run may connect to. Everything else is refused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostRules(Vec<AllowedHost>);

/// Whether a run may connect to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostVerdict {
    /// To any of these addresses, without another look at the name.
    Connect(Vec<IpAddr>),
    /// To the public addresses of the name, which [`HostRules::usable_addresses`] selects.
    Resolve(String),
    Refuse,
}

impl AllowedHost {
    /// Parses `host` or `host:port`. A host of this machine needs a port, because that is what is
    /// made available to the run.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (host, port) =
            TargetHost::parse_with_port(text).map_err(|error| describe(text, error))?;
        if host.is_loopback() && port.is_none() {
            return Err(format!("{text:?} needs a port, such as {:?}", host.with_port(8080)));
        }
        Ok(Self { host, port })
    }

    fn has_port(&self, port: u16) -> bool {
        self.port.map_or_else(|| DEFAULT_PORTS.contains(&port), |own| own == port)
    }
}

fn describe(text: &str, error: HostError) -> String {
    let hint = match error {
        HostError::Characters | HostError::Port if text.contains("://") => {
            "; write the host without a scheme"
        }
        HostError::Characters if text.contains('*') => "; list each host by its name",
        _ => "",
    };
    format!("{text:?} {error}{hint}")
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => f.write_str(&self.host.with_port(port)),
            None => self.host.fmt(f),
        }
    }
}

impl HostRules {
    pub fn new(hosts: Vec<AllowedHost>) -> Self {
        Self(hosts)
    }

    /// Decides about a connection before any name is resolved.
    pub fn judge(&self, host: &TargetHost, port: u16) -> HostVerdict {
        let listed = || self.0.iter().any(|entry| entry.host == *host && entry.has_port(port));
        let own = self.loopback_addresses(port);
        match host {
            // Not resolved: the name always means this machine.
            TargetHost::Name(_) if host.is_loopback() && !own.is_empty() => {
                HostVerdict::Connect(own)
            }
            TargetHost::Address(address) if own.contains(address) || listed() => {
                HostVerdict::Connect(vec![*address])
            }
            TargetHost::Name(name) if !host.is_loopback() && listed() => {
                HostVerdict::Resolve(name.clone())
            }
            TargetHost::Name(_) | TargetHost::Address(_) => HostVerdict::Refuse,
        }
    }

    /// Returns the addresses of this machine that are listed with a port.
    fn loopback_addresses(&self, port: u16) -> Vec<IpAddr> {
        let both = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let of_entry = |entry: &AllowedHost| match entry.host {
            TargetHost::Address(address) => vec![address],
            TargetHost::Name(_) => both.to_vec(),
        };
        let own = self.0.iter().filter(|entry| entry.host.is_loopback() && entry.has_port(port));
        let mut addresses: Vec<IpAddr> = own.flat_map(of_entry).collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    /// Returns which addresses of an allowed name may be connected to: public ones, and those that
    /// are themselves on the list. A name on the list must not lead into the networks of this machine.
    pub fn usable_addresses(&self, resolved: &[IpAddr], port: u16) -> Vec<IpAddr> {
        let is_usable = |address: &IpAddr| {
            let literal = TargetHost::Address(*address);
            is_public(*address) || matches!(self.judge(&literal, port), HostVerdict::Connect(_))
        };
        resolved.iter().map(IpAddr::to_canonical).filter(is_usable).collect()
    }

    /// Returns the ports of this machine that the run may use.
    pub fn loopback_ports(&self) -> Vec<u16> {
        let is_own = |entry: &&AllowedHost| entry.host.is_loopback();
        let mut ports: Vec<u16> =
            self.0.iter().filter(is_own).filter_map(|entry| entry.port).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(hosts: &[&str]) -> HostRules {
        HostRules::new(hosts.iter().map(|text| AllowedHost::parse(text).expect("a host")).collect())
    }

    fn judge(rules: &HostRules, host: &str, port: u16) -> HostVerdict {
        rules.judge(&TargetHost::parse(host).expect("a host"), port)
    }

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().expect("an address")).collect()
    }

    #[test]
    fn listed_name_is_resolved_on_its_ports_only() {
        let rules = rules(&["API.example.com", "other.example.com:8443"]);
        let resolve = |name: &str| HostVerdict::Resolve(name.to_owned());
        assert_eq!(judge(&rules, "api.example.com.", 443), resolve("api.example.com"));
        assert_eq!(judge(&rules, "api.example.com", 80), resolve("api.example.com"));
        assert_eq!(judge(&rules, "api.example.com", 22), HostVerdict::Refuse);
        assert_eq!(judge(&rules, "other.example.com", 8443), resolve("other.example.com"));
        assert_eq!(judge(&rules, "other.example.com", 443), HostVerdict::Refuse);
        assert_eq!(judge(&rules, "example.com", 443), HostVerdict::Refuse);
        assert_eq!(judge(&rules, "x.api.example.com", 443), HostVerdict::Refuse);
        assert_eq!(judge(&rules, "localhost", 443), HostVerdict::Refuse);
    }

    #[test]
    fn listed_name_cannot_lead_into_own_networks() {
        let rules = rules(&["api.example.com", "10.0.0.7"]);
        let found = addresses(&[
            "127.0.0.1",
            "10.0.0.7",
            "10.0.0.8",
            "::1",
            "::ffff:192.168.0.1",
            "1.1.1.1",
        ]);
        assert_eq!(rules.usable_addresses(&found, 443), addresses(&["10.0.0.7", "1.1.1.1"]));
        assert_eq!(rules.usable_addresses(&found, 22), addresses(&["1.1.1.1"]));
    }

    #[test]
    fn listed_addresses_are_connected_to_literally() {
        let rules =
            rules(&["127.0.0.1:11434", "[::1]:9", "localhost:8080", "[::ffff:10.0.0.1]:81"]);
        let connect = |texts: &[&str]| HostVerdict::Connect(addresses(texts));
        assert_eq!(judge(&rules, "127.0.0.1", 11434), connect(&["127.0.0.1"]));
        assert_eq!(judge(&rules, "::ffff:127.0.0.1", 11434), connect(&["127.0.0.1"]));
        assert_eq!(judge(&rules, "10.0.0.1", 81), connect(&["10.0.0.1"]));
        assert_eq!(judge(&rules, "LOCALHOST", 8080), connect(&["127.0.0.1", "::1"]));
        assert_eq!(judge(&rules, "127.0.0.2", 11434), HostVerdict::Refuse);
        assert_eq!(judge(&rules, "localhost", 11434), connect(&["127.0.0.1"]));
        assert_eq!(judge(&rules, "::1", 8080), connect(&["::1"]));
        assert_eq!(judge(&rules, "localhost", 81), HostVerdict::Refuse);
        assert_eq!(rules.loopback_ports(), [9, 8080, 11434]);
    }

    #[test]
    fn entry_that_is_no_host_is_refused_with_a_hint() {
        let error = |text: &str| AllowedHost::parse(text).expect_err("no host");
        assert_eq!(
            error("https://example.com"),
            "\"https://example.com\" has a port that is not a number from 1 to 65535; \
             write the host without a scheme"
        );
        assert!(error("*.example.com").ends_with("list each host by its name"));
        assert_eq!(error("localhost"), "\"localhost\" needs a port, such as \"localhost:8080\"");
        assert_eq!(
            error("127.1:80"),
            "\"127.1:80\" is not a complete IPv4 address of four decimal numbers"
        );
        assert_eq!(
            AllowedHost::parse("Example.com.:80").expect("a host").to_string(),
            "example.com:80"
        );
    }
}
