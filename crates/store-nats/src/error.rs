//! Why a fleet cannot be used.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use adjutant_store::StoreError;
use thiserror::Error;

use crate::options::BadOptions;

/// Whatever the client said.
pub(crate) type Cause = Box<dyn Error + Send + Sync>;

/// Why a fleet cannot be used, or did not answer.
#[derive(Debug, Error)]
pub enum FleetError {
    /// The options make no sense.
    #[error("the fleet cannot be reached like this")]
    Options(#[from] BadOptions),
    /// A file that is named cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The servers do not answer.
    #[error("cannot {attempt} at {servers}")]
    Unreachable {
        /// What was tried, as a verb.
        attempt: &'static str,
        /// Where.
        servers: String,
        /// What the client said.
        source: Cause,
    },
    /// The servers answer, and do not let this node in: waiting does not help.
    #[error("cannot get into {servers} with what this node has")]
    Refused {
        /// Where.
        servers: String,
        /// What the client said.
        source: Cause,
    },
    /// The servers do not promise what is needed.
    #[error("{servers} cannot keep what is promised: {}; mend it, or set `durability = \"relaxed\"` and live with the loss", problems.join("; "))]
    NotDurable {
        /// Where.
        servers: String,
        /// Everything that is missing.
        problems: Vec<String>,
    },
    /// The stream of commits was set to drop or change some.
    #[error("the stream {stream} is not as it was made: {}; `nats stream edit {stream}` sets right what can be set, and under another prefix `adjutant fleet restore` makes a new one", problems.join("; "))]
    Altered {
        /// Which.
        stream: String,
        /// Everything that is set otherwise.
        problems: Vec<String>,
    },
    /// What is on the servers is not what it should be.
    #[error("{0}")]
    Damaged(String),
}

impl FleetError {
    /// Turns it into what a store says, with the servers for a place.
    pub(crate) fn into_store(self, servers: &str) -> StoreError {
        let path = PathBuf::from(servers);
        match self {
            Self::Unreachable { attempt, source, .. } => {
                let source = io::Error::new(io::ErrorKind::HostUnreachable, source);
                StoreError::Io { attempt, path, source }
            }
            Self::Damaged(what) => StoreError::Damaged { path, what },
            Self::Altered { .. } => StoreError::Damaged { path, what: self.to_string() },
            Self::Options(_)
            | Self::File { .. }
            | Self::Refused { .. }
            | Self::NotDurable { .. } => {
                StoreError::Io { attempt: "use", path, source: io::Error::other(self) }
            }
        }
    }
}
