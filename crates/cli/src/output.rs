//! Where answers go: words for a person, JSON for a program.

use std::io::{IsTerminal, Stderr, Stdout, Write};

use serde_json::{Value, json};

use crate::error::Failure;

/// Standard output, and what is known about who reads it.
pub(crate) struct Output {
    json: bool,
    colour: bool,
    terminal: bool,
    stdout: Stdout,
    stderr: Stderr,
}

/// A colour, where there is colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Plain,
    Dim,
    Red,
    Green,
    Yellow,
    Blue,
}

impl Colour {
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

/// Returns standard output for a stream that no person reads.
pub(crate) fn stream() -> Box<dyn Write + Send> {
    Box::new(std::io::stdout())
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let able = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let colour = terminal && wanted && able && !json;
        Self { json, colour, terminal, stdout: std::io::stdout(), stderr: std::io::stderr() }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Says whether a person reads this on a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Returns the columns of the terminal; none where lines may be as long as they are.
    pub(crate) fn width(&self) -> Option<usize> {
        let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let real = || {
            let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
            Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
        };
        asked.or_else(real).filter(|_| self.terminal)
    }

    /// Prints a line.
    pub(crate) fn line(&self, text: &str) -> Result<(), Failure> {
        Ok(writeln!(self.stdout.lock(), "{text}")?)
    }

    /// Prints bytes as they are, for a program that asked for them: never on a terminal.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = self.stdout.lock();
        Ok(stdout.write_all(bytes).and_then(|()| stdout.flush())?)
    }

    /// Starts to print many lines in few writes.
    pub(crate) fn lines(&self) -> Lines<'_> {
        Lines { out: self, text: String::new() }
    }

    /// Prints a text of many lines; as JSON, a document that holds it.
    pub(crate) fn text(&self, name: &str, text: &str) -> Result<(), Failure> {
        if self.json { self.document(&json!({ name: text })) } else { self.line(text) }
    }

    /// Tells a person something that is not what the command was asked for.
    pub(crate) fn warn(&self, text: &str) {
        // A warning that nobody can read stops nothing.
        let _ = writeln!(self.stderr.lock(), "warning: {}", clean(text));
    }

    /// Prints a JSON document on a line of its own.
    pub(crate) fn document(&self, document: &Value) -> Result<(), Failure> {
        self.line(&document.to_string())
    }

    /// Paints a text.
    pub(crate) fn paint(&self, colour: Colour, text: &str) -> String {
        if self.colour && colour != Colour::Plain {
            format!("{}{text}\x1b[0m", colour.code())
        } else {
            text.to_owned()
        }
    }
}

/// How much is kept back before it is written.
const KEPT_BYTES_MAX: usize = 1 << 16;

/// Many lines on their way out.
pub(crate) struct Lines<'a> {
    out: &'a Output,
    text: String,
}

impl Lines<'_> {
    /// Adds a line.
    pub(crate) fn push(&mut self, line: &str) -> Result<(), Failure> {
        self.text.push_str(line);
        self.text.push('\n');
        if self.text.len() > KEPT_BYTES_MAX { self.flush() } else { Ok(()) }
    }

    /// Writes what was kept back.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.stdout.lock().write_all(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }
}

/// Makes text that somebody else wrote fit to be printed: nothing in it moves the cursor.
pub(crate) fn clean(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if c.is_control() || is_direction(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

/// Makes a longer text fit to be printed: lines stay lines, and tabs stay tabs.
pub(crate) fn clean_lines(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(clean).collect::<Vec<_>>().join("\t");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Characters that turn the direction of what follows.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}
