//! One message to a target: a single notice, or several that are sent together.

use adjutant_config::redact::redact_text;
use adjutant_model::notice::{NoticeKind, OperatorNotice};
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeMessage {
    /// The same when the message is sent again.
    pub id: String,
    pub items: Vec<NoticeItem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeItem {
    /// The same in every message that contains the notice.
    pub id: String,
    pub notice: OperatorNotice,
}

impl NoticeMessage {
    /// Returns one line of plain text per notice.
    pub fn lines(&self) -> Vec<String> {
        self.items.iter().map(|item| notice_text(&item.notice)).collect()
    }

    /// Returns the JSON document for programs.
    pub fn to_json(&self) -> Value {
        let items: Vec<Value> = self.items.iter().map(NoticeItem::to_json).collect();
        json!({"version": 1, "id": self.id, "notices": items})
    }
}

impl NoticeItem {
    /// Makes an item, with secrets in its texts redacted.
    pub(super) fn new(id: String, notice: OperatorNotice) -> Self {
        let (title, reason) =
            (redact_text(&notice.title).into(), redact_text(&notice.reason).into());
        Self { id, notice: OperatorNotice { title, reason, ..notice } }
    }

    /// Returns the JSON document for programs.
    pub fn to_json(&self) -> Value {
        let Self { id, notice } = self;
        let mut document = json!({
            "id": id,
            "kind": notice.kind.as_str(),
            "eventId": notice.event.0,
            "at": notice.at.to_string(),
            "actor": notice.by.to_string(),
            "title": notice.title,
            "reason": notice.reason,
            "text": notice_text(notice),
        });
        if let Some(task) = &notice.task {
            document["taskId"] = task.as_str().into();
        }
        document
    }
}

fn notice_text(notice: &OperatorNotice) -> String {
    let what = notice.kind.in_words();
    let head = match &notice.task {
        Some(task) if notice.kind != NoticeKind::Refused => {
            format!("{} ({task}) {what}", notice.title)
        }
        Some(task) => format!("{what} ({task})"),
        None => what.to_owned(),
    };
    let whole = match notice.reason.trim() {
        "" => head,
        reason => format!("{head}: {reason}"),
    };
    to_plain_line(&whole)
}

/// Turns text from an agent into one line of plain text, without control characters and without
/// characters that change the writing direction.
pub(super) fn to_plain_line(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if c.is_control() || is_direction_mark(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}
