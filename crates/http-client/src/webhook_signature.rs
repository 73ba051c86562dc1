//! Signatures of webhooks according to <https://www.standardwebhooks.com>.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The prefix of a secret that is written in base64.
const PREFIX: &str = "whsec_";

/// Decodes a secret into its key.
pub fn decode_key(text: &str) -> Result<Vec<u8>, String> {
    let text = text.trim();
    match text.strip_prefix(PREFIX) {
        _ if text.is_empty() => Err("the secret is empty".to_owned()),
        None => Ok(text.as_bytes().to_owned()),
        Some(coded) => match BASE64_STANDARD.decode(coded) {
            Ok(key) if !key.is_empty() => Ok(key),
            _ => Err(format!("the secret after {PREFIX} is not base64")),
        },
    }
}

/// Returns the value of the `webhook-signature` header.
pub fn sign_webhook(key: &[u8], id: &str, stamp: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length is good");
    mac.update(format!("{id}.{stamp}.{body}").as_bytes());
    format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
}
