//! Errors of a fleet's connection and its streams.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use adjutant_store::StoreError;
use thiserror::Error;

use crate::nats::options::OptionsError;

pub(crate) type ErrorCause = Box<dyn Error + Send + Sync>;

#[derive(Debug, Error)]
pub enum FleetError {
    #[error("the address of the fleet is invalid")]
    Options(#[from] OptionsError),
    #[error("cannot read {}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The servers do not answer; a retry may help.
    #[error("cannot {attempt} at {servers}")]
    Unreachable {
        /// What was tried, as a verb.
        attempt: &'static str,
        servers: String,
        source: ErrorCause,
    },
    /// The servers answer but refuse this node's credentials or certificate; a retry does not help.
    #[error("{servers} refuse the credentials or the certificate of this node")]
    Refused { servers: String, source: ErrorCause },
    /// The servers are less durable than `durability = "strict"` requires.
    #[error(
        "{servers} are not durable enough: {}; fix this, or accept that commits can be lost and \
         set `durability = \"relaxed\"`",
        problems.join("; ")
    )]
    NotDurable { servers: String, problems: Vec<String> },
    /// The stream's settings would delete or change commits.
    #[error(
        "the settings of the stream {stream} were changed: {}; fix them with `nats stream edit \
         {stream}`, or set another prefix and run `adjutant fleet restore`",
        problems.join("; ")
    )]
    Altered { stream: String, problems: Vec<String> },
    /// An entry on the servers, or a reply, that no accepted node signed.
    #[error("{what} is refused: {why}; {next}")]
    Foreign { what: String, why: String, next: &'static str },
    /// The data on the servers is missing, unreadable or does not match the folder.
    #[error("{0}")]
    Damaged(String),
}

impl FleetError {
    /// Converts the error to a [`StoreError`] whose path is the servers' address.
    pub(crate) fn into_store(self, servers: &str) -> StoreError {
        let path = PathBuf::from(servers);
        match self {
            Self::Unreachable { attempt, source, .. } => {
                let source = io::Error::new(io::ErrorKind::HostUnreachable, source);
                StoreError::Io { attempt, path, source }
            }
            Self::Damaged(what) => StoreError::Damaged { path, what },
            Self::Altered { .. } | Self::Foreign { .. } => {
                StoreError::Damaged { path, what: self.to_string() }
            }
            Self::Options(_)
            | Self::File { .. }
            | Self::Refused { .. }
            | Self::NotDurable { .. } => {
                StoreError::Io { attempt: "use", path, source: io::Error::other(self) }
            }
        }
    }
}
