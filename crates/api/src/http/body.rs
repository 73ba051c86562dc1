//! What a call brings along: so much and no more, so fast and no slower.

use std::time::Duration;

use adjutant_core::answer::Reason;
use adjutant_core::aof::MESSAGE_BYTES_MAX;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::App;
use super::auth::Who;
use super::problem::Problem;
use super::refusals::Attempt;

/// How long a caller may take to send what it brings along.
const TIME: Duration = Duration::from_secs(20);

/// The bytes a call brings along. One byte more than a message may have is enough to know that it
/// is too large.
pub(super) struct Raw {
    pub(super) bytes: Vec<u8>,
    attempt: Attempt,
    who: Option<Who>,
}

impl FromRequest<App> for Raw {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let attempt = Attempt::of(&request);
        let who = request.extensions().get::<Who>().cloned();
        match tokio::time::timeout(TIME, read(request.into_body())).await {
            Ok(Ok(bytes)) => Ok(Self { bytes, attempt, who }),
            Ok(Err(_)) => Err(Problem::bad_call("the call broke off before it was whole")),
            Err(_) => Err(app.refuse(Reason::TooSlow, who.as_ref(), &attempt, "")),
        }
    }
}

async fn read(mut body: Body) -> Result<Vec<u8>, axum::Error> {
    let mut bytes = Vec::new();
    while bytes.len() <= MESSAGE_BYTES_MAX {
        let Some(frame) = body.frame().await else { break };
        if let Some(data) = frame?.data_ref() {
            let room = MESSAGE_BYTES_MAX + 1 - bytes.len();
            bytes.extend_from_slice(&data[..data.len().min(room)]);
        }
    }
    Ok(bytes)
}

impl Raw {
    /// Says whether there is more than a message may have.
    pub(super) fn is_too_large(&self) -> bool {
        self.bytes.len() > MESSAGE_BYTES_MAX
    }

    /// Reads a document; nothing at all is an empty one. Every field that does not fit is named.
    pub(super) fn json<T: DeserializeOwned>(&self, app: &App) -> Result<T, Problem> {
        if self.is_too_large() {
            return Err(app.refuse(Reason::PayloadTooLarge, self.who.as_ref(), &self.attempt, ""));
        }
        let empty = self.bytes.iter().all(u8::is_ascii_whitespace);
        let text: &[u8] = if empty { b"{}" } else { &self.bytes };
        let value: Value = serde_json::from_slice(text)
            .map_err(|error| Problem::bad_call(format!("what was sent is not JSON: {error}")))?;
        fitted(&value)
    }
}

fn fitted<T: DeserializeOwned>(value: &Value) -> Result<T, Problem> {
    let error = match serde_json::from_value(value.clone()) {
        Ok(fits) => return Ok(fits),
        Err(error) => error,
    };
    // Every field may be left out as far as its type goes, so that each can be tried alone.
    let fields = value.as_object().into_iter().flatten();
    let alone = fields.filter_map(|(key, value)| {
        let one: Map<String, Value> = std::iter::once((key.clone(), value.clone())).collect();
        let tried = serde_json::from_value::<T>(Value::Object(one)).err()?;
        Some(format!("{key}: {tried}"))
    });
    let errors: Vec<String> = alone.collect();
    Err(Problem::invalid(if errors.is_empty() { vec![error.to_string()] } else { errors }))
}
