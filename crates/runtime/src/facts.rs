//! Finds out on disk what a decision on a message needs to know.

use adjutant_core::TaskId;
use adjutant_core::aof::{Envelope, Message};
use adjutant_core::completion::HANDOFF_REF;
use adjutant_core::input::{Facts, Presence as There, Token};
use adjutant_core::path::RelPath;
use adjutant_store::{Presence, Store, StoreError};

use crate::token::Secret;

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
    token: Token,
) -> Result<Facts, StoreError> {
    let mut facts = Facts { token, ..Facts::default() };
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
    Ok(facts)
}

/// Says what the token in a message is worth. A run that speaks through its own output need not
/// show one; if it does, it must be its own.
pub fn token(envelope: &Envelope, by: Option<Token>, secret: Option<&Secret>) -> Token {
    let shown = match secret {
        Some(secret) => secret.judge(envelope.run_token.as_deref(), &tasks(envelope)),
        None if envelope.run_token.is_some() => Token::Unknown,
        None => Token::None,
    };
    match by {
        None => shown,
        Some(run) if shown == Token::None || shown == run => run,
        Some(_) => Token::Unknown,
    }
}
