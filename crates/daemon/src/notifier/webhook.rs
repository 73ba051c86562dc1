//! Posts a message to a URL, signed according to <https://www.standardwebhooks.com>, for which
//! receivers find libraries.

use std::path::Path;

use adjutant_config::Notify;
use adjutant_http_client::webhook_signature::{decode_key, sign_webhook};
use adjutant_http_client::{PostReply, PostRequest, PostUrl, post};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_process::regular_file::read_regular;

use super::notice_message::NoticeMessage;
use super::notify_targets::SendResult;
use super::webhook_body;

const ANSWER_BYTES_MAX: u64 = 4_096;

/// The longest file with an address or a key.
const SECRET_BYTES_MAX: u64 = 64 << 10;

pub(super) fn send(rule: &Notify, root: &Path, letter: &NoticeMessage) -> SendResult {
    let (to, secret) = match (read_address(rule, root), read_key(rule, root)) {
        (Ok(to), Ok(secret)) => (to, secret),
        (Err(why), _) | (_, Err(why)) => return SendResult::later(why),
    };
    let body = webhook_body::webhook_body(rule.format.unwrap_or_default(), letter).to_string();
    let stamp = SystemClock.now().as_millis().div_euclid(1_000).to_string();
    let mut headers = vec![
        ("content-type", "application/json".to_owned()),
        ("idempotency-key", letter.id.clone()),
        ("webhook-id", letter.id.clone()),
        ("webhook-timestamp", stamp.clone()),
    ];
    if let Some(secret) = secret {
        headers.push(("webhook-signature", sign_webhook(&secret, &letter.id, &stamp, &body)));
    }
    let (body, timeout) = (body.as_bytes(), rule.timeout.0);
    let posted =
        post(&PostRequest { to: &to, headers, body, timeout, answer_bytes_max: ANSWER_BYTES_MAX });
    match posted {
        Ok(reply) => interpret_status(&to, &reply),
        Err(error) => SendResult::later(error.to_string()),
    }
}

/// Interprets the status of a reply. A request that the receiver calls invalid stays
/// invalid; every other failure may pass, because the address may be corrected and an
/// overloaded receiver recovers.
fn interpret_status(to: &PostUrl, reply: &PostReply) -> SendResult {
    let why = format!("{to} answered {}", reply.status);
    match reply.status {
        200..300 => SendResult::Accepted,
        400 | 413 | 415 | 422 => SendResult::Rejected(why),
        _ => SendResult::Later { why, after: reply.retry_after },
    }
}

/// Reads the URL to post to, each time anew: its file may have changed.
pub(super) fn read_address(rule: &Notify, root: &Path) -> Result<PostUrl, String> {
    let (text, place) = if let Some(url) = &rule.url {
        (url.clone(), "url".to_owned())
    } else if let Some(file) = &rule.url_file {
        (read_secret_file(root, file)?, format!("the text in {}", file.display()))
    } else if let Some(name) = &rule.url_env {
        (read_variable(name)?, format!("the variable {name}"))
    } else {
        return Err("the rule has no address: set `url`, `url_file` or `url_env`".to_owned());
    };
    PostUrl::parse(&text).map_err(|bad| format!("{place} {bad}"))
}

/// Reads the key that posts are signed with; `None` if they are not signed.
pub(super) fn read_key(rule: &Notify, root: &Path) -> Result<Option<Vec<u8>>, String> {
    let text = match (&rule.secret_file, &rule.secret_env) {
        (Some(file), _) => read_secret_file(root, file)?,
        (None, Some(name)) => read_variable(name)?,
        (None, None) => return Ok(None),
    };
    decode_key(&text).map(Some)
}

fn read_secret_file(root: &Path, file: &Path) -> Result<String, String> {
    let bytes = read_regular(&root.join(file), SECRET_BYTES_MAX)
        .map_err(|error| format!("{}: {error}", file.display()))?;
    String::from_utf8(bytes).map_err(|_| format!("{}: it is not text", file.display()))
}

fn read_variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("the environment variable {name} is not set"))
}
