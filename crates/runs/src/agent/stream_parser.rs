//! Parses an agent's output stream: events in JSON lines, and lines of its log.

use std::io::BufRead;

use adjutant_config::Kind;

use super::{AgentSelfReport, LocalNow, parse_line, parse_log_line, tested_versions};

/// Longer lines are cut off. An agent's events are short; the content it reads is not.
const LINE_BYTES_MAX: usize = 8 << 20;

/// Collects what an agent reports about itself, and buffers at most one line.
pub struct AgentStreamParser {
    kind: Kind,
    line: Vec<u8>,
    report: AgentSelfReport,
    /// The session id that Adjutant chose; counts once the model has answered.
    session: Option<String>,
}

impl AgentStreamParser {
    /// `session` is the session id, if Adjutant chose it.
    pub fn new(kind: Kind, session: Option<String>) -> Self {
        Self { kind, line: vec![], report: AgentSelfReport::default(), session }
    }

    /// Sets the version warning for agents that do not report their version.
    #[must_use]
    pub fn with_version_warning(mut self, untried: Option<String>) -> Self {
        self.report.untried = untried;
        self
    }

    pub fn self_report(&self) -> &AgentSelfReport {
        &self.report
    }

    /// Parses the next bytes of output, and returns the collected state if it changed.
    pub fn push(&mut self, mut bytes: &[u8], now: LocalNow) -> Option<AgentSelfReport> {
        let before = self.report.clone();
        while !bytes.is_empty() {
            let end = bytes.skip_until_break();
            let (line, rest) = bytes.split_at(end);
            let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
            self.line.extend_from_slice(&line[..line.len().min(room)]);
            if line.ends_with(b"\n") {
                self.parse_line(now);
            }
            bytes = rest;
        }
        (self.report != before).then(|| self.report.clone())
    }

    fn parse_line(&mut self, now: LocalNow) {
        let events = match serde_json::from_slice(&self.line) {
            Ok(value) => parse_line(self.kind, &value),
            Err(_) => parse_log_line(self.kind, String::from_utf8_lossy(&self.line).trim()),
        };
        for event in events {
            if event == super::AgentStreamEvent::ModelAnswered && self.report.session.is_none() {
                self.report.session = self.session.take();
            }
            if let super::AgentStreamEvent::Version(version) = &event {
                self.report.untried =
                    tested_versions(self.kind).and_then(|tried| tried.version_warning(version));
            }
            self.report.apply(event, now);
        }
        self.line.clear();
        self.line.shrink_to(64 << 10);
    }
}

trait LineScan {
    fn skip_until_break(&self) -> usize;
}

impl LineScan for &[u8] {
    /// Returns the length of the first line, including its line break.
    fn skip_until_break(&self) -> usize {
        let mut rest = *self;
        rest.skip_until(b'\n').unwrap_or(self.len())
    }
}
