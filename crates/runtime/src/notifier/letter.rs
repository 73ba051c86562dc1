//! What is told at once: one notice, or several that were gathered.

use adjutant_core::notice::{Kind, Notice};
use serde_json::{Value, json};

use crate::secretive::masked;

/// What is told at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// By what it is known: the same if it has to be told again.
    pub id: String,
    /// What it says.
    pub items: Vec<Item>,
}

/// One notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// By what it is known, whatever letter it is in.
    pub id: String,
    /// What it says.
    pub notice: Notice,
}

impl Letter {
    /// Says what happened, a line for each notice. Nothing in it is more than text.
    pub fn lines(&self) -> Vec<String> {
        self.items.iter().map(|item| in_words(&item.notice)).collect()
    }

    /// Says all of it for a program.
    pub fn document(&self) -> Value {
        let items: Vec<Value> = self.items.iter().map(Item::document).collect();
        json!({"version": 1, "id": self.id, "notices": items})
    }
}

impl Item {
    /// Makes one of a notice. What looks like a secret goes to nobody.
    pub(super) fn new(id: String, notice: Notice) -> Self {
        let (title, reason) = (masked(&notice.title).into(), masked(&notice.reason).into());
        Self { id, notice: Notice { title, reason, ..notice } }
    }

    /// Says all of it for a program.
    pub fn document(&self) -> Value {
        let Self { id, notice } = self;
        let mut document = json!({
            "id": id,
            "kind": notice.kind.as_str(),
            "eventId": notice.event.0,
            "at": notice.at.to_string(),
            "actor": notice.by.to_string(),
            "title": notice.title,
            "reason": notice.reason,
            "text": in_words(notice),
        });
        if let Some(task) = &notice.task {
            document["taskId"] = task.as_str().into();
        }
        document
    }
}

fn in_words(notice: &Notice) -> String {
    let what = notice.kind.in_words();
    let head = match &notice.task {
        Some(task) if notice.kind != Kind::Refused => format!("{} ({task}) {what}", notice.title),
        Some(task) => format!("{what} ({task})"),
        None => what.to_owned(),
    };
    let whole = match notice.reason.trim() {
        "" => head,
        reason => format!("{head}: {reason}"),
    };
    clean(&whole)
}

/// Makes text that somebody else wrote one line of plain text: nothing in it moves a cursor, or
/// turns what follows.
pub(super) fn clean(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if c.is_control() || is_direction(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}
