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
    /// How many commits before a copy are left on the servers, for folders that were away for a
    /// while.
    pub behind: u64,
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
        let bad = |what: &str| BadOptions(vec![what.to_owned()]);
        let Some((scheme @ ("nats" | "tls"), hosts)) = store.split_once("://") else {
            // What it says instead may have a password in it.
            return Err(bad("it does not begin with nats:// or tls://"));
        };
        let hosts: Vec<&str> = hosts.split(',').map(str::trim).collect();
        if hosts.windows(2).any(|pair| !pair[0].contains('@') && pair[1].contains('@')) {
            return Err(bad(
                "an address without a name and a password comes before one that has them: the \
                 first must have them, and a comma in a password is written %2C",
            ));
        }
        let servers = hosts.iter().map(|host| format!("{scheme}://{host}")).collect();
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
            match hide(server).parse::<ServerAddr>() {
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

    /// Returns the addresses, without what lets anybody in.
    pub(crate) fn addresses(&self) -> Result<Vec<ServerAddr>, BadOptions> {
        self.check()?;
        Ok(self.servers.iter().filter_map(|server| hide(server).parse().ok()).collect())
    }

    /// Returns what the first address that has it says to be let in, which counts for all.
    pub(crate) fn login(&self) -> Option<Login> {
        self.servers.iter().find_map(|server| {
            let (login, _) = server.split_once("://")?.1.rsplit_once('@')?;
            Some(match login.split_once(':') {
                Some((user, password)) => Login::Password(decoded(user), decoded(password)),
                None => Login::Token(decoded(login)),
            })
        })
    }

    /// Returns the addresses as people write them, without what lets anybody in.
    pub fn shown(&self) -> String {
        self.servers.iter().map(|server| hide(server)).collect::<Vec<_>>().join(",")
    }
}

/// What is said to be let in.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Login {
    /// A name and a password.
    Password(String, String),
    /// A word that is enough by itself.
    Token(String),
}

/// Reads `%2C` for a comma, and so on. What is no such number stays as it is.
fn decoded(text: &str) -> String {
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
            behind: 10_000,
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

    #[test]
    fn a_password_is_not_shown_whatever_is_wrong_with_the_address() {
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
            let words = Options::parse(store).expect_err(store).to_string();
            assert!(!words.contains("hunter2") && !words.is_empty(), "{store}: {words}");
        }
        let words = Options::parse("nats://me:a,b@a:4222").expect_err("a comma").to_string();
        assert!(words.contains("a comma in a password is written %2C"), "{words}");
    }

    #[test]
    fn what_is_written_in_numbers_is_read_as_what_it_stands_for() {
        let login = |store: &str| match Options::parse(store).expect("good addresses").login() {
            Some(Login::Password(user, password)) => format!("{user} {password}"),
            Some(Login::Token(token)) => token,
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
