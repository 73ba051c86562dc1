//! Finds out on disk what a decision on a message needs to know.

use adjutant_core::TaskId;
use adjutant_core::aof::{Envelope, Message};
use adjutant_core::completion::HANDOFF_REF;
use adjutant_core::input::{Facts, Presence as There, Token};
use adjutant_core::path::RelPath;
use adjutant_store::{Presence, Store, StoreError};
use serde_json::Value;

/// Returns every task whose state a message bears on.
pub fn tasks(envelope: &Envelope) -> Vec<TaskId> {
    match &envelope.message {
        Message::HandoffRequest(handoff) => vec![envelope.task.clone(), handoff.parent.clone()],
        _ => vec![envelope.task.clone()],
    }
}

/// Gathers the facts about a message.
pub fn gather(
    store: &mut impl Store,
    envelope: &Envelope,
    raw: &[u8],
) -> Result<Facts, StoreError> {
    let mut facts = Facts { token: token(envelope), ..Facts::default() };
    let summary = envelope.expected_files().map(|(summary, _)| summary);
    for (place, path) in envelope.paths() {
        match store.presence(&envelope.task, path)? {
            Presence::Escapes => facts.escapes.push(place),
            Presence::Missing if summary.is_some_and(|summary| std::ptr::eq(summary, path)) => {
                facts.summary = There::Missing;
            }
            Presence::Missing | Presence::Present => {}
        }
    }
    if let (Some(_), Ok(handoff)) = (summary, RelPath::parse(HANDOFF_REF))
        && store.presence(&envelope.task, &handoff)? != Presence::Present
    {
        facts.handoff = There::Missing;
    }
    facts.raw = envelope.run_token.is_some().then(|| kept(raw));
    Ok(facts)
}

/// Returns a message as it can be kept: without the token, which is nobody's business.
fn kept(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    let json = text.strip_prefix("AOF/1 ").unwrap_or(&text);
    let Ok(mut value) = serde_json::from_str::<Value>(json) else { return String::new() };
    for place in ["", "/payload", "/message", "/content"] {
        if let Some(Value::Object(object)) = value.pointer_mut(place) {
            object.shift_remove("runToken");
        }
    }
    serde_json::to_string_pretty(&value).expect("what was JSON is JSON") + "\n"
}

/// No run has been given out by this program yet, so no token is known.
fn token(envelope: &Envelope) -> Token {
    match envelope.run_token {
        None => Token::None,
        Some(_) => Token::Unknown,
    }
}
