//! Where answers go: words for a person, JSON for a program.

use std::io::{IsTerminal, Write};

use serde_json::Value;

use crate::error::Failure;

/// Standard output, and what is known about who reads it.
pub(crate) struct Output {
    json: bool,
    colour: bool,
    terminal: bool,
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

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let able = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self { json, colour: terminal && wanted && able && !json, terminal }
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
        Ok(writeln!(std::io::stdout().lock(), "{text}")?)
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

/// Makes text that somebody else wrote fit to be printed: nothing in it moves the cursor.
pub(crate) fn clean(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if c.is_control() || is_direction(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

/// Makes a longer text fit to be printed: lines stay lines.
pub(crate) fn clean_lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

/// Characters that turn the direction of what follows.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}
