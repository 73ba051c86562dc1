//! Hears what an agent says of itself: in the lines of JSON it prints, and in those of its log.

use std::io::BufRead;

use super::{Now, Told, read, read_log, tried};
use crate::config::Kind;

/// The longest line that is looked at. What an agent says of itself is short; what it read is not.
const LINE_BYTES_MAX: usize = 8 << 20;

/// Hears what an agent says, with no more than one line at hand.
pub struct Ear {
    kind: Kind,
    line: Vec<u8>,
    told: Told,
    /// What its conversation is known by, once it has begun.
    session: Option<String>,
}

impl Ear {
    /// Listens to an agent of a kind. `session` is what its conversation will be known by, if that
    /// is known before.
    pub fn new(kind: Kind, session: Option<String>) -> Self {
        Self { kind, line: vec![], told: Told::default(), session }
    }

    /// Knows something of the version of its program, which the agent does not tell.
    #[must_use]
    pub fn knowing(mut self, untried: Option<String>) -> Self {
        self.told.untried = untried;
        self
    }

    /// Returns what was told so far.
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// Takes bytes as they come, and returns what was told so far, if that is new.
    pub fn push(&mut self, mut bytes: &[u8], now: Now) -> Option<Told> {
        let before = self.told.clone();
        while !bytes.is_empty() {
            let end = bytes.skip_until_break();
            let (line, rest) = bytes.split_at(end);
            let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
            self.line.extend_from_slice(&line[..line.len().min(room)]);
            if line.ends_with(b"\n") {
                self.hear(now);
            }
            bytes = rest;
        }
        (self.told != before).then(|| self.told.clone())
    }

    fn hear(&mut self, now: Now) {
        let heard = match serde_json::from_slice(&self.line) {
            Ok(value) => read(self.kind, &value),
            Err(_) => read_log(self.kind, String::from_utf8_lossy(&self.line).trim()),
        };
        for heard in heard {
            if heard == super::Heard::Works && self.told.session.is_none() {
                self.told.session = self.session.take();
            }
            if let super::Heard::Version(version) = &heard {
                self.told.untried = tried(self.kind).and_then(|tried| tried.warns(version));
            }
            self.told.hear(heard, now);
        }
        self.line.clear();
        self.line.shrink_to(64 << 10);
    }
}

trait Lines {
    fn skip_until_break(&self) -> usize;
}

impl Lines for &[u8] {
    /// Returns where the line ends, its break included.
    fn skip_until_break(&self) -> usize {
        let mut rest = *self;
        rest.skip_until(b'\n').unwrap_or(self.len())
    }
}
