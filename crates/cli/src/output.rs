//! Prints answers: text for a person, JSON for a program.

pub(crate) mod error;

use std::io::{IsTerminal, Stdout, Write};

pub(crate) use adjutant_query::text::{clean, clean_lines};
use serde::Serialize;
use serde_json::json;

use crate::output::error::CommandFailure;

/// Standard output and how to write to it: as JSON or text, with or without colour.
pub(crate) struct CommandOutput {
    json: bool,
    colour: bool,
    terminal: bool,
    stdout: Stdout,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextColour {
    Plain,
    Dim,
    Red,
    Green,
    Yellow,
    Blue,
}

impl TextColour {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dim => "\x1b[2m",
            Self::Red => "\x1b[31m",
            Self::Green => "\x1b[32m",
            Self::Yellow => "\x1b[33m",
            Self::Blue => "\x1b[34m",
        }
    }
}

/// Returns standard output for a byte stream that a program reads.
pub(crate) fn stdout_stream() -> Box<dyn Write + Send> {
    Box::new(std::io::stdout())
}

impl CommandOutput {
    pub(crate) fn new(json: bool) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let able = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let colour = terminal && wanted && able && !json;
        Self { json, colour, terminal, stdout: std::io::stdout() }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Returns whether a person can be asked: both ends are a terminal, and text is printed.
    pub(crate) fn is_interactive(&self) -> bool {
        self.terminal && !self.json && std::io::stdin().is_terminal()
    }

    /// Asks a person a question; any answer but `y` or `yes` means no.
    pub(crate) fn ask(&self, question: &str) -> Result<bool, CommandFailure> {
        let mut stdout = self.stdout.lock();
        write!(stdout, "{question} [y/N] ")?;
        stdout.flush()?;
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    /// Returns the columns of the terminal, or `None` if output is not a terminal:
    /// lines are not cut.
    pub(crate) fn width(&self) -> Option<usize> {
        let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let real = || {
            let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
            Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
        };
        asked.or_else(real).filter(|_| self.terminal)
    }

    pub(crate) fn line(&self, text: &str) -> Result<(), CommandFailure> {
        Ok(writeln!(self.stdout.lock(), "{text}")?)
    }

    /// Prints bytes unchanged. Callers must not do this on a terminal.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), CommandFailure> {
        let mut stdout = self.stdout.lock();
        Ok(stdout.write_all(bytes).and_then(|()| stdout.flush())?)
    }

    /// Buffers lines, so that many lines take few writes. The caller must flush.
    pub(crate) fn lines(&self) -> BufferedLines<'_> {
        BufferedLines { out: self, text: String::new() }
    }

    /// Prints a text of several lines, or with `--json` a document that holds it under `name`.
    pub(crate) fn text(&self, name: &str, text: &str) -> Result<(), CommandFailure> {
        if self.json { self.document(&json!({ name: text })) } else { self.line(text) }
    }

    /// Prints a warning on standard error.
    #[expect(clippy::unused_self, reason = "it is called like the other methods")]
    pub(crate) fn warn(&self, text: &str) {
        Self::print_warning(text);
    }

    /// Prints a warning on standard error, for code that has no output of its own.
    pub(crate) fn print_warning(text: &str) {
        // A warning that cannot be written does not fail the command.
        let _ = writeln!(std::io::stderr().lock(), "warning: {}", clean(text));
    }

    /// Prints a value as one line of JSON.
    pub(crate) fn document(&self, document: &impl Serialize) -> Result<(), CommandFailure> {
        let text = serde_json::to_string(document);
        self.line(&text.map_err(|error| CommandFailure::broken("cannot write the output", &error))?)
    }

    pub(crate) fn paint(&self, colour: TextColour, text: &str) -> String {
        if self.colour && colour != TextColour::Plain {
            format!("{}{text}\x1b[0m", colour.code())
        } else {
            text.to_owned()
        }
    }
}

/// [`BufferedLines`] writes its buffer once it holds more than this.
const BUFFER_BYTES_MAX: usize = 1 << 16;

/// A buffer of lines. It is not flushed on drop.
pub(crate) struct BufferedLines<'a> {
    out: &'a CommandOutput,
    text: String,
}

impl BufferedLines<'_> {
    pub(crate) fn push(&mut self, line: &str) -> Result<(), CommandFailure> {
        self.text.push_str(line);
        self.text.push('\n');
        if self.text.len() > BUFFER_BYTES_MAX { self.flush() } else { Ok(()) }
    }

    pub(crate) fn flush(&mut self) -> Result<(), CommandFailure> {
        self.out.stdout.lock().write_all(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }
}
