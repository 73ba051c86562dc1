//! Asks the daemon through its door.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use thiserror::Error;

use super::wire::{ReplyWire, RequestWire};
use super::{DOOR, LINE_BYTES_MAX, socket};
use crate::engine::{Answered, Request};

/// Somebody at the door of a daemon.
pub struct Guest {
    stream: BufReader<UnixStream>,
}

/// Why a request through the door has no answer.
#[derive(Debug, Error)]
pub enum NoAnswer {
    /// The daemon could not do it. Nothing was changed.
    #[error("{message}")]
    Failed {
        /// What it said.
        message: String,
        /// Why.
        causes: Vec<String>,
    },
    /// The daemon could not reach whoever decides in a fleet, or was not answered: the request may
    /// or may not have been done.
    #[error("{message}")]
    Alone {
        /// What it said.
        message: String,
        /// Why.
        causes: Vec<String>,
    },
    /// The daemon went away before it answered: the request may or may not have been done.
    #[error("the daemon went away before it answered")]
    Gone(#[source] io::Error),
    /// What came back is no answer.
    #[error("the daemon's answer makes no sense; it may be of another version")]
    Nonsense,
}

impl Guest {
    /// Goes to the door of the daemon that runs on a folder; none if none runs.
    pub fn enter(root: &Path) -> Option<Self> {
        let stream = socket::connect(root, DOOR).ok()?;
        Some(Self { stream: BufReader::new(stream) })
    }

    /// Asks, and waits for the answers, in order.
    pub fn ask(&mut self, requests: &[Request]) -> Result<Vec<Answered>, NoAnswer> {
        let mut lines = Vec::new();
        for request in requests {
            let wire = RequestWire::try_from(request).map_err(|_| NoAnswer::Nonsense)?;
            serde_json::to_writer(&mut lines, &wire).map_err(|_| NoAnswer::Nonsense)?;
            lines.push(b'\n');
        }
        // Answers must be read while requests are written: either side could fill up.
        let mut writer = self.stream.get_ref().try_clone().map_err(NoAnswer::Gone)?;
        std::thread::scope(|scope| {
            scope.spawn(move || writer.write_all(&lines));
            requests.iter().map(|_| self.answer()).collect()
        })
    }

    fn answer(&mut self) -> Result<Answered, NoAnswer> {
        let mut line = Vec::new();
        let mut limited = (&mut self.stream).take(LINE_BYTES_MAX);
        let read = limited.read_until(b'\n', &mut line).map_err(NoAnswer::Gone)?;
        if read == 0 || !line.ends_with(b"\n") {
            return Err(NoAnswer::Gone(io::ErrorKind::UnexpectedEof.into()));
        }
        match serde_json::from_slice(&line).map_err(|_| NoAnswer::Nonsense)? {
            ReplyWire::Answered(wire) => (*wire).try_into().map_err(|_| NoAnswer::Nonsense),
            ReplyWire::Failed { message, causes } => Err(NoAnswer::Failed { message, causes }),
            ReplyWire::Alone { message, causes } => Err(NoAnswer::Alone { message, causes }),
        }
    }
}
