//! Posts to an address, signed as <https://www.standardwebhooks.com> has it, so that receivers have
//! code for it already.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::format;
use super::letter::Letter;
use super::target::Tried;
use crate::clock::{Clock, SystemClock};
use crate::config::Notify;
use crate::http_post::{Address, Post, Reply, post};

/// How much of an answer is read.
const ANSWER_BYTES_MAX: u64 = 4_096;

/// What a secret begins with that is written in base64.
const PREFIX: &str = "whsec_";

/// Posts what is told.
pub(super) fn send(rule: &Notify, root: &Path, letter: &Letter) -> Tried {
    let (to, secret) = match (address(rule, root), secret(rule, root)) {
        (Ok(to), Ok(secret)) => (to, secret),
        (Err(why), _) | (_, Err(why)) => return Tried::later(why),
    };
    let body = format::body(rule.format.unwrap_or_default(), letter).to_string();
    let stamp = SystemClock.now().as_millis().div_euclid(1_000).to_string();
    let mut headers = vec![
        ("content-type", "application/json".to_owned()),
        ("idempotency-key", letter.id.clone()),
        ("webhook-id", letter.id.clone()),
        ("webhook-timestamp", stamp.clone()),
    ];
    if let Some(secret) = secret {
        headers.push(("webhook-signature", sign(&secret, &letter.id, &stamp, &body)));
    }
    let (body, timeout) = (body.as_bytes(), rule.timeout.0);
    let posted =
        post(&Post { to: &to, headers, body, timeout, answer_bytes_max: ANSWER_BYTES_MAX });
    match posted {
        Ok(reply) => judge(&to, &reply),
        Err(error) => Tried::later(error.to_string()),
    }
}

/// Says what an answer means. What a receiver calls a bad request stays one; everything else may
/// change: an address may be mended, and whoever is overloaded recovers.
fn judge(to: &Address, reply: &Reply) -> Tried {
    let why = format!("{to} answers {}", reply.status);
    match reply.status {
        200..300 => Tried::Taken,
        400 | 413 | 415 | 422 => Tried::Never(why),
        _ => Tried::Later { why, after: reply.retry_after },
    }
}

/// Returns the address to post to. It may be another one the next time.
pub(super) fn address(rule: &Notify, root: &Path) -> Result<Address, String> {
    let (text, place) = if let Some(url) = &rule.url {
        (url.clone(), "url".to_owned())
    } else if let Some(file) = &rule.url_file {
        (read(root, file)?, format!("the text in {}", file.display()))
    } else if let Some(name) = &rule.url_env {
        (variable(name)?, format!("the variable {name}"))
    } else {
        return Err("no address is given: `url`, `url_file` or `url_env` says it".to_owned());
    };
    Address::parse(&text).map_err(|bad| format!("{place} {bad}"))
}

/// Returns the key posts are signed with, if they are.
pub(super) fn secret(rule: &Notify, root: &Path) -> Result<Option<Vec<u8>>, String> {
    let text = match (&rule.secret_file, &rule.secret_env) {
        (Some(file), _) => read(root, file)?,
        (None, Some(name)) => variable(name)?,
        (None, None) => return Ok(None),
    };
    key(&text).map(Some)
}

/// Reads the key that a secret is.
pub(crate) fn key(text: &str) -> Result<Vec<u8>, String> {
    let text = text.trim();
    match text.strip_prefix(PREFIX) {
        _ if text.is_empty() => Err("the secret is empty".to_owned()),
        None => Ok(text.as_bytes().to_owned()),
        Some(coded) => match BASE64_STANDARD.decode(coded) {
            Ok(key) if !key.is_empty() => Ok(key),
            _ => Err(format!("what comes after {PREFIX} in the secret is no base64")),
        },
    }
}

fn read(root: &Path, file: &Path) -> Result<String, String> {
    fs::read_to_string(root.join(file)).map_err(|error| format!("{}: {error}", file.display()))
}

fn variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("there is no variable {name} in the environment"))
}

/// Signs a post.
pub(crate) fn sign(key: &[u8], id: &str, stamp: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length is good");
    mac.update(format!("{id}.{stamp}.{body}").as_bytes());
    format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
}
