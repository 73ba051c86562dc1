//! Reads request bodies, with limits on size and time.

use std::time::Duration;

use adjutant_core::protocols::aof::MESSAGE_BYTES_MAX;
use adjutant_model::answer::Reason;
use axum::Form;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{Method, header};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::SharedState;
use super::auth::CallerIdentity;
use super::problem::ApiProblem;
use super::refusal_log::CallDescription;

/// How long a caller may take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// The request body. Reading stops one byte past the limit, which is enough to know that it
/// is too large.
pub(super) struct RequestBody {
    pub(super) bytes: Vec<u8>,
    attempt: CallDescription,
    who: Option<CallerIdentity>,
}

impl FromRequest<SharedState> for RequestBody {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, app: &SharedState) -> Result<Self, ApiProblem> {
        let attempt = CallDescription::from_request(&request);
        let who = request.extensions().get::<CallerIdentity>().cloned();
        match tokio::time::timeout(BODY_TIMEOUT, read_body(request.into_body())).await {
            Ok(Ok(bytes)) => Ok(Self { bytes, attempt, who }),
            Ok(Err(_)) => Err(ApiProblem::bad_request(
                "the connection was closed before the whole body was received",
            )),
            Err(_) => Err(app.refuse(Reason::TooSlow, who.as_ref(), &attempt, "")),
        }
    }
}

async fn read_body(mut body: Body) -> Result<Vec<u8>, axum::Error> {
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

impl RequestBody {
    pub(super) fn is_too_large(&self) -> bool {
        self.bytes.len() > MESSAGE_BYTES_MAX
    }

    /// Parses the body as the fields of a form.
    pub(super) async fn form<T: DeserializeOwned>(
        &self,
        app: &SharedState,
    ) -> Result<T, ApiProblem> {
        self.check_size(app)?;
        let request = Request::builder()
            .method(Method::POST)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(self.bytes.clone()))
            .map_err(|_| ApiProblem::internal_error())?;
        let parsed = Form::<T>::from_request(request, &()).await;
        let Form(fields) = parsed.map_err(|bad| ApiProblem::bad_request(bad.to_string()))?;
        Ok(fields)
    }

    fn check_size(&self, app: &SharedState) -> Result<(), ApiProblem> {
        if self.is_too_large() {
            return Err(app.refuse(Reason::PayloadTooLarge, self.who.as_ref(), &self.attempt, ""));
        }
        Ok(())
    }

    /// Parses the body as JSON; an empty body counts as `{}`. The error names every invalid field.
    pub(super) fn json<T: DeserializeOwned>(&self, app: &SharedState) -> Result<T, ApiProblem> {
        self.check_size(app)?;
        let empty = self.bytes.iter().all(u8::is_ascii_whitespace);
        let text: &[u8] = if empty { b"{}" } else { &self.bytes };
        let value: Value = serde_json::from_slice(text).map_err(|error| {
            ApiProblem::bad_request(format!("the body is not valid JSON: {error}"))
        })?;
        parse_fields(&value)
    }
}

fn parse_fields<T: DeserializeOwned>(value: &Value) -> Result<T, ApiProblem> {
    let error = match serde_json::from_value(value.clone()) {
        Ok(fits) => return Ok(fits),
        Err(error) => error,
    };
    // Every field is optional for serde, so each one can be tried alone.
    let fields = value.as_object().into_iter().flatten();
    let alone = fields.filter_map(|(key, value)| {
        let one: Map<String, Value> = std::iter::once((key.clone(), value.clone())).collect();
        let tried = serde_json::from_value::<T>(Value::Object(one)).err()?;
        Some(format!("{key}: {tried}"))
    });
    let errors: Vec<String> = alone.collect();
    Err(ApiProblem::invalid(if errors.is_empty() { vec![error.to_string()] } else { errors }))
}
