//! Redacts the secrets of Adjutant in a decision, before it is applied and committed.
//!
//! Every text from outside passes here: of messages, commands, files, runs and checks. So neither
//! the event log nor a task, a notice or an answer has such a secret, and no reader needs to look.

use adjutant_config::redact::{RedactionScope, SecretRedactor};
use adjutant_core::Decision;
use adjutant_model::{Effect, Event};
use serde_json::Value;

/// Stands for a secret where `****` is not valid, such as in a name.
const NAME_REPLACEMENT: &str = "redacted";

/// Returns the decision without the secrets of Adjutant.
pub(super) fn redact_decision(redactor: &SecretRedactor, mut decision: Decision) -> Decision {
    let mut buffer = Vec::with_capacity(1024);
    for new_event in &mut decision.events {
        if let Some(redacted) = redact_event(redactor, &new_event.event, &mut buffer) {
            new_event.event = redacted;
        }
    }
    for effect in &mut decision.effects {
        if let Effect::Notify { notice, .. } = effect {
            redact_string(redactor, &mut notice.title);
            redact_string(redactor, &mut notice.reason);
        }
    }
    for problem in &mut decision.answer.problems {
        redact_string(redactor, &mut problem.path);
        redact_string(redactor, &mut problem.message);
    }
    decision.answer.warnings.iter_mut().for_each(|text| redact_string(redactor, text));
    decision
}

/// Returns the event without secrets; `None` if it has none. Events are read as JSON, so that no
/// text of a new event is forgotten; most have no secret and are only written.
fn redact_event(redactor: &SecretRedactor, event: &Event, buffer: &mut Vec<u8>) -> Option<Event> {
    buffer.clear();
    serde_json::to_writer(&mut *buffer, event).ok()?;
    let in_line = redactor.redact_bytes(buffer, RedactionScope::OwnSecrets).is_some();
    let mut redacted = if in_line { redact_line(redactor, buffer)? } else { event.clone() };
    let in_rest = redact_unlogged(redactor, event, &mut redacted);
    (in_line || in_rest).then_some(redacted)
}

fn redact_line(redactor: &SecretRedactor, line: &[u8]) -> Option<Event> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let redacted = |replacement: Option<&str>| {
        let mut value = value.clone();
        redact_value(redactor, &mut value, replacement);
        serde_json::from_value(value).ok()
    };
    redacted(None).or_else(|| redacted(Some(NAME_REPLACEMENT)))
}

fn redact_value(redactor: &SecretRedactor, value: &mut Value, replacement: Option<&str>) {
    match value {
        Value::String(text) => {
            let before = text.clone();
            redact_string(redactor, text);
            if let Some(replacement) = replacement.filter(|_| *text != before) {
                replacement.clone_into(text);
            }
        }
        Value::Array(items) => {
            for item in items {
                redact_value(redactor, item, replacement);
            }
        }
        Value::Object(fields) => {
            for field in fields.values_mut() {
                redact_value(redactor, field, replacement);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Redacts what the line of an event does not have, and takes the rest of it from `original`.
/// Returns whether something was redacted.
fn redact_unlogged(redactor: &SecretRedactor, original: &Event, redacted: &mut Event) -> bool {
    let redact = |text: &Option<String>| {
        text.as_deref().map(|text| redactor.redact(text, RedactionScope::OwnSecrets).into_owned())
    };
    match (original, redacted) {
        (
            Event::TaskCreated { body: from, limits: own, .. },
            Event::TaskCreated { body, limits, .. },
        )
        | (
            Event::TaskEdited { body: from, limits: own, .. },
            Event::TaskEdited { body, limits, .. },
        ) => {
            (*body, *limits) = (redact(from), *own);
            body != from
        }
        (Event::RunSalvaged { text: from, .. }, Event::RunSalvaged { text, .. }) => {
            *text = redact(from);
            text != from
        }
        _ => false,
    }
}

fn redact_string(redactor: &SecretRedactor, text: &mut String) {
    if let std::borrow::Cow::Owned(redacted) = redactor.redact(text, RedactionScope::OwnSecrets) {
        *text = redacted;
    }
}
