//! Where the servers are, and how to be let in.

use std::path::PathBuf;
use std::time::Duration;

use async_nats::ServerAddr;
use thiserror::Error;

/// How a fleet is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The addresses of the servers, as `nats://host:port` or `tls://host:port`.
    pub servers: Vec<String>,
    /// What everything of this project begins with on the servers.
    pub prefix: String,
    /// The file with the credentials of the user.
    pub credentials: Option<PathBuf>,
    /// How the connection is secured, beyond what the servers ask for.
    pub tls: Tls,
    /// What is asked of the servers before anything is promised.
    pub durability: Durability,
    /// How long an answer is waited for, over however many tries.
    pub patience: Duration,
}

/// Files for TLS.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    /// The certificates of those who may sign a server's.
    pub ca: Option<PathBuf>,
    /// The certificate of this client, and its key.
    pub client: Option<(PathBuf, PathBuf)>,
}

/// What is asked of the servers before anything is promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Three replicas, each synced before it answers, and a version that is known to work.
    #[default]
    Strict,
    /// Whatever the servers give.
    Relaxed,
}

/// Why options make no sense.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", .0.join("; "))]
pub struct BadOptions(pub Vec<String>);

impl Options {
    /// Takes the address of a store, `nats://a,b,c`, with everything else as it is by default.
    pub fn parse(store: &str) -> Result<Self, BadOptions> {
        let servers: Vec<String> = match store.split_once("://") {
            Some((scheme @ ("nats" | "tls"), hosts)) => {
                hosts.split(',').map(|host| format!("{scheme}://{}", host.trim())).collect()
            }
            _ => return Err(BadOptions(vec![format!("{store} does not begin with nats://")])),
        };
        let options = Self { servers, ..Self::default() };
        options.check()?;
        Ok(options)
    }

    /// Says everything that is wrong.
    pub fn check(&self) -> Result<(), BadOptions> {
        let mut wrong = Vec::new();
        if self.servers.is_empty() {
            wrong.push("no server is named".to_owned());
        }
        for server in &self.servers {
            match server.parse::<ServerAddr>() {
                Ok(address) if !address.host().is_empty() => {}
                Ok(_) | Err(_) => wrong.push(format!("{} is no address", hide(server))),
            }
        }
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if self.prefix.is_empty() || self.prefix.len() > 64 || !self.prefix.bytes().all(plain) {
            let what = "must be up to 64 letters, digits, - and _";
            wrong.push(format!("the prefix {:?} {what}", self.prefix));
        }
        if wrong.is_empty() { Ok(()) } else { Err(BadOptions(wrong)) }
    }

    /// Returns the addresses as people write them, without what lets anybody in.
    pub fn shown(&self) -> String {
        self.servers.iter().map(|server| hide(server)).collect::<Vec<_>>().join(",")
    }
}

/// Leaves out what lets anybody in.
fn hide(server: &str) -> String {
    match server.split_once("://") {
        Some((scheme, rest)) => {
            format!("{scheme}://{}", rest.rsplit('@').next().unwrap_or_default())
        }
        None => server.to_owned(),
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            servers: vec![],
            prefix: "adjutant".into(),
            credentials: None,
            tls: Tls::default(),
            durability: Durability::default(),
            patience: Duration::from_secs(30),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_names_its_servers() {
        let options = Options::parse("nats://a:4222,b:4222, c:4222").expect("good addresses");
        assert_eq!(options.servers, ["nats://a:4222", "nats://b:4222", "nats://c:4222"]);
        assert_eq!(options.shown(), "nats://a:4222,nats://b:4222,nats://c:4222");
    }

    #[test]
    fn everything_that_is_wrong_is_said() {
        let options =
            Options { servers: vec!["nats://".into()], prefix: "a.b".into(), ..Options::default() };
        let wrong = options.check().expect_err("two things are wrong").0;
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(Options::parse("redis://a").is_err());
    }

    #[test]
    fn a_password_is_not_shown() {
        let options = Options::parse("nats://me:secret@a:4222,b:4222").expect("good addresses");
        assert_eq!(options.shown(), "nats://a:4222,nats://b:4222");
    }
}
