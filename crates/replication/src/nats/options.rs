//! Options of a fleet connection: addresses, login, TLS, durability and timeouts.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::ServerAddr;
use thiserror::Error;

use crate::nats::node_signer::NodeSigner;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetOptions {
    /// The addresses of the servers, as `nats://host:port` or `tls://host:port`.
    pub servers: Vec<String>,
    /// The prefix of every stream, bucket and subject of this project.
    pub prefix: String,
    /// The key of this node and the keys of its fleet. Without it there is no connection.
    pub signer: Option<NodeSigner>,
    /// The seed by which this node signs in to the servers.
    pub login_seed: Option<LoginSeed>,
    /// The NATS credentials file of the user.
    pub credentials: Option<PathBuf>,
    /// TLS files, beyond what the servers require.
    pub tls: TlsFiles,
    pub durability: DurabilityLevel,
    /// How long to wait for an answer, retries included.
    pub retry_timeout: Duration,
    /// How many commits before the snapshot stay on the servers, for nodes that were
    /// away for a while.
    pub commits_kept: u64,
}

/// The seed of a NATS user's key.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginSeed(pub String);

impl fmt::Debug for LoginSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LoginSeed")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsFiles {
    /// The certificate authority that signs server certificates.
    pub ca: Option<PathBuf>,
    /// The certificate of this client, and its key.
    pub client: Option<(PathBuf, PathBuf)>,
}

/// How durable the servers must be before Adjutant uses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DurabilityLevel {
    /// Three replicas that sync before they answer, and a server version known to work.
    #[default]
    Strict,
    /// Accepts any server, and with it the loss of commits.
    Relaxed,
}

/// Everything that is wrong with the options.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", .0.join("; "))]
pub struct OptionsError(pub Vec<String>);

impl FleetOptions {
    /// Parses the address of a store, `nats://a,b,c`. Everything else gets its default.
    pub fn parse(store: &str) -> Result<Self, OptionsError> {
        let bad = |what: &str| OptionsError(vec![what.to_owned()]);
        let Some((scheme @ ("nats" | "tls"), hosts)) = store.split_once("://") else {
            // The text may contain a password, so the message does not quote it.
            return Err(bad("it must begin with nats:// or tls://"));
        };
        let hosts: Vec<&str> = hosts.split(',').map(str::trim).collect();
        if hosts.windows(2).any(|pair| !pair[0].contains('@') && pair[1].contains('@')) {
            return Err(bad(
                "the user name and password must be in the first address; write a comma in a \
                 password as %2C",
            ));
        }
        let servers = hosts.iter().map(|host| format!("{scheme}://{host}")).collect();
        let options = Self { servers, ..Self::default() };
        options.check()?;
        Ok(options)
    }

    /// Returns an error that lists every problem.
    pub fn check(&self) -> Result<(), OptionsError> {
        let mut wrong = Vec::new();
        if self.servers.is_empty() {
            wrong.push("it names no server".to_owned());
        }
        for server in &self.servers {
            match strip_login(server).parse::<ServerAddr>() {
                Ok(address) if !address.host().is_empty() => {}
                Ok(_) | Err(_) => wrong.push(format!("{} is not an address", strip_login(server))),
            }
        }
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if self.prefix.is_empty() || self.prefix.len() > 64 || !self.prefix.bytes().all(plain) {
            let what = "must be up to 64 letters, digits, - and _";
            wrong.push(format!("the prefix {:?} {what}", self.prefix));
        }
        if wrong.is_empty() { Ok(()) } else { Err(OptionsError(wrong)) }
    }

    /// Returns the addresses without logins.
    pub(crate) fn addresses(&self) -> Result<Vec<ServerAddr>, OptionsError> {
        self.check()?;
        Ok(self.servers.iter().filter_map(|server| strip_login(server).parse().ok()).collect())
    }

    /// Returns the login of the first address that has one; it applies to all servers.
    pub(crate) fn login(&self) -> Option<ServerLogin> {
        self.servers.iter().find_map(|server| {
            let (login, _) = server.split_once("://")?.1.rsplit_once('@')?;
            Some(match login.split_once(':') {
                Some((user, password)) => {
                    ServerLogin::Password(decode_percent(user), decode_percent(password))
                }
                None => ServerLogin::Token(decode_percent(login)),
            })
        })
    }

    /// Returns the addresses for display, without logins.
    pub fn display_addresses(&self) -> String {
        self.servers.iter().map(|server| strip_login(server)).collect::<Vec<_>>().join(",")
    }
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum ServerLogin {
    /// A user name and a password.
    Password(String, String),
    Token(String),
}

/// Decodes percent-encoding, such as `%2C`. Invalid sequences stay as they are.
fn decode_percent(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let hex = digits.filter(|two| two.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let number = hex.and_then(|two| u8::from_str_radix(two, 16).ok());
        if let Some(number) = number.filter(|_| *first == b'%') {
            bytes.push(number);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Removes the login from an address.
fn strip_login(server: &str) -> String {
    match server.split_once("://") {
        Some((scheme, rest)) => {
            format!("{scheme}://{}", rest.rsplit('@').next().unwrap_or_default())
        }
        None => server.to_owned(),
    }
}

impl Default for FleetOptions {
    fn default() -> Self {
        Self {
            servers: vec![],
            prefix: "adjutant".into(),
            signer: None,
            login_seed: None,
            credentials: None,
            tls: TlsFiles::default(),
            durability: DurabilityLevel::default(),
            retry_timeout: Duration::from_secs(30),
            commits_kept: 10_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_parse_list_of_servers() {
        let options = FleetOptions::parse("nats://a:4222,b:4222, c:4222").expect("good addresses");
        assert_eq!(options.servers, ["nats://a:4222", "nats://b:4222", "nats://c:4222"]);
        assert_eq!(options.display_addresses(), "nats://a:4222,nats://b:4222,nats://c:4222");
    }

    #[test]
    fn options_check_lists_every_problem() {
        let options = FleetOptions {
            servers: vec!["nats://".into()],
            prefix: "a.b".into(),
            ..FleetOptions::default()
        };
        let wrong = options.check().expect_err("two things are wrong").0;
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(FleetOptions::parse("redis://a").is_err());
    }

    #[test]
    fn options_hide_password() {
        let options =
            FleetOptions::parse("nats://me:secret@a:4222,b:4222").expect("good addresses");
        assert_eq!(options.display_addresses(), "nats://a:4222,nats://b:4222");
    }

    #[test]
    fn options_hide_password_in_every_parse_error() {
        let wrong = [
            "redis://me:hunter2@a:4222",
            "me:hunter2@a:4222",
            "nats://me:hunter2@",
            "nats://me:hunter2@a:port",
            "nats://me:hunter2,x@a:4222,b:4222",
            "nats://me:x,hunter2@a:4222",
            "nats://me:4222,hunter2@a:4222",
            "nats://me:x@a:4222,me:hunter2,y@b:4222",
        ];
        for store in wrong {
            let words = FleetOptions::parse(store).expect_err(store).to_string();
            assert!(!words.contains("hunter2") && !words.is_empty(), "{store}: {words}");
        }
        let words = FleetOptions::parse("nats://me:a,b@a:4222").expect_err("a comma").to_string();
        assert!(words.contains("write a comma in a password as %2C"), "{words}");
    }

    #[test]
    fn options_decode_percent_encoding_in_login() {
        let login = |store: &str| match FleetOptions::parse(store).expect("good addresses").login()
        {
            Some(ServerLogin::Password(user, password)) => format!("{user} {password}"),
            Some(ServerLogin::Token(token)) => token,
            None => String::new(),
        };
        assert_eq!(login("nats://me:a%2Cb%40c%25@a:4222,b:4222"), "me a,b@c%");
        assert_eq!(login("nats://me:100%@a:4222"), "me 100%");
        assert_eq!(login("nats://me:a/b#c?d^e@a:4222"), "me a/b#c?d^e");
        assert_eq!(login("nats://me:gr%C3%BCn:x@a:4222"), "me grün:x");
        assert_eq!(login("nats://t%2Dken@a:4222"), "t-ken");
        assert_eq!(login("nats://a:4222"), "");
    }
}
