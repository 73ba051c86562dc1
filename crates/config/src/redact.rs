//! Redacts values that look like secrets, before they reach a log, a notice or a page.
//!
//! It decides by appearance: the prefixes of well-known keys, the name that a value is given, or
//! the position in a URL. It is best effort: a secret that looks like an ordinary word
//! is not found.

use std::borrow::Cow;

/// Replaces a redacted value.
const REDACTED: &[u8] = b"****";

/// The prefixes of well-known keys, and how many bytes follow at least.
const KEY_PREFIXES: [(&[u8], usize); 30] = [
    (b"sk-", 20),
    (b"sk_live_", 16),
    (b"sk_test_", 16),
    (b"rk_live_", 16),
    (b"ghp_", 30),
    (b"gho_", 30),
    (b"ghu_", 30),
    (b"ghs_", 30),
    (b"ghr_", 30),
    (b"github_pat_", 22),
    (b"glpat-", 20),
    (b"xoxb-", 10),
    (b"xoxp-", 10),
    (b"xoxa-", 10),
    (b"xoxr-", 10),
    (b"xoxs-", 10),
    (b"xapp-", 10),
    (b"AKIA", 16),
    (b"ASIA", 16),
    (b"AIza", 35),
    (b"ya29.", 20),
    (b"npm_", 36),
    (b"pypi-", 30),
    (b"hf_", 30),
    (b"whsec_", 20),
    (b"dop_v1_", 40),
    (b"SG.", 40),
    (b"eyJ", 60),
    (b"AGE-SECRET-KEY-", 20),
    (b"tskey-", 20),
];

/// The endings of the names of secrets, in lower case.
const SECRET_NAMES: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "api-key",
    "apikey",
    "access_key",
    "private_key",
];

/// The shortest value that is redacted because of its name.
const VALUE_MIN: usize = 8;
/// The most bytes that are held back until more output arrives.
const PENDING_BYTES_MAX: usize = 512;
/// A value of this length is not taken for an ordinary word.
const LONG_VALUE_MIN: usize = 20;

/// Returns the text with everything redacted that looks like a secret.
pub fn redact_text(text: &str) -> Cow<'_, str> {
    match redact_bytes(text.as_bytes(), 0) {
        // A redacted word begins and ends at ASCII bytes, so the rest is still valid UTF-8.
        Some(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        None => Cow::Borrowed(text),
    }
}

/// Redacts `bytes[from..]` and returns the result; `None` if nothing was redacted. The bytes before
/// `from` were handled already and only give the context, such as the name of the first value.
pub fn redact_bytes(bytes: &[u8], from: usize) -> Option<Vec<u8>> {
    let goes_on = from > 0 && is_word(bytes[from - 1]);
    let begin = if goes_on { end_of_word(bytes, from) } else { from };
    let (mut out, mut kept, mut at) = (Vec::new(), from, begin);
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        let end = end_of_word(bytes, at);
        // All agent output passes here, so words that are too short are skipped first.
        let long = end - at >= VALUE_MIN || bytes.get(end) == Some(&b'@');
        if let Some(from) = long.then(|| secret_start(bytes, at, end)).flatten() {
            out.extend_from_slice(&bytes[kept..from]);
            out.extend_from_slice(REDACTED);
            kept = end;
        }
        at = end;
    }
    if kept == from {
        return None;
    }
    out.extend_from_slice(&bytes[kept..]);
    Some(out)
}

/// Returns how many bytes at the end may be the beginning of a secret.
pub fn pending_suffix_len(bytes: &[u8]) -> usize {
    let part = |byte: &&u8| is_word(**byte) || matches!(**byte, b'=' | b':' | b'"' | b'\'');
    let length = bytes.iter().rev().take(PENDING_BYTES_MAX).take_while(part).count();
    let end = &bytes[bytes.len() - length..];
    let word = &end[end.iter().rposition(|byte| !is_word(*byte)).map_or(0, |at| at + 1)..];
    let begins = |(beginning, _): &(&[u8], usize)| {
        word.starts_with(beginning) || (!word.is_empty() && beginning.starts_with(word))
    };
    let text = String::from_utf8_lossy(end).to_ascii_lowercase();
    let named = text.contains(['=', ':']) && SECRET_NAMES.iter().any(|name| text.contains(name));
    let may = KEY_PREFIXES.iter().any(begins) || named || text.contains("://");
    if may { length } else { 0 }
}

/// Returns the end of the word at a position.
fn end_of_word(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && is_word(bytes[at]) {
        at += 1;
    }
    at
}

/// Returns whether a byte can be part of a secret.
fn is_word(byte: u8) -> bool {
    WORD_BYTES[byte as usize]
}

/// The bytes that a word consists of.
const WORD_BYTES: [bool; 256] = {
    let mut word = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        let sign = matches!(byte, b'_' | b'-' | b'.' | b'+' | b'/' | b'~' | b'%');
        word[byte as usize] = byte.is_ascii_alphanumeric() || sign;
        byte += 1;
    }
    word
};

/// Returns the position from which a word must be redacted.
fn secret_start(bytes: &[u8], at: usize, end: usize) -> Option<usize> {
    let word = &bytes[at..end];
    if let Some(beginning) = known_prefix_len(word) {
        return Some(at + beginning);
    }
    let before = &bytes[..at];
    let address = bytes.get(end) == Some(&b'@') && is_url_password(before, word);
    (address || has_secret_name(before, word) || is_credential(before, word)).then_some(at)
}

/// Returns the length of the well-known prefix of a key.
fn known_prefix_len(word: &[u8]) -> Option<usize> {
    let is = |(beginning, rest): &(&[u8], usize)| {
        word.starts_with(beginning) && word.len() >= beginning.len() + rest && is_mixed(word)
    };
    KEY_PREFIXES.iter().find(|one| is(one)).map(|(beginning, _)| beginning.len())
}

/// Returns whether a word has letters and digits, unlike ordinary words.
fn is_mixed(word: &[u8]) -> bool {
    word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_alphabetic)
}

/// Returns whether the text before a word gives it the name of a secret.
fn has_secret_name(before: &[u8], word: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let quoted =
        |bytes: &[u8]| bytes.strip_suffix(b"\"").or(bytes.strip_suffix(b"'")).map(<[u8]>::len);
    let before = &before[..quoted(before).unwrap_or(before.len())];
    let before = before.trim_ascii_end();
    let Some((sign @ (b'=' | b':'), name)) = before.split_last() else { return false };
    if word.len() < VALUE_MIN {
        return false;
    }
    let name = name.trim_ascii_end();
    let name = &name[..quoted(name).unwrap_or(name.len())];
    let name = &name[name.iter().rposition(|byte| !is_word(*byte)).map_or(0, |at| at + 1)..];
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    if !SECRET_NAMES.iter().any(|end| name.ends_with(end)) {
        return false;
    }
    match sign {
        // A number is a count, such as a token limit.
        b'=' => !word.iter().all(u8::is_ascii_digit),
        // In prose, an ordinary word may follow a colon.
        b':' => is_mixed(word) || word.len() >= LONG_VALUE_MIN,
        _ => false,
    }
}

/// Returns whether a word is a credential, as in `Authorization: Bearer …`.
fn is_credential(before: &[u8], word: &[u8]) -> bool {
    let Some(before) = before.strip_suffix(b" ") else { return false };
    let ends = |scheme: &[u8]| {
        before.len() >= scheme.len()
            && before[before.len() - scheme.len()..].eq_ignore_ascii_case(scheme)
    };
    word.len() >= 16 && is_mixed(word) && (ends(b"bearer") || ends(b"authorization: basic"))
}

/// Returns whether a word that `@` follows is the password in a URL,
/// as in `https://name:password@host`.
fn is_url_password(before: &[u8], word: &[u8]) -> bool {
    let Some(before) = before.strip_suffix(b":").filter(|_| !word.contains(&b'/')) else {
        return false;
    };
    let name = before.iter().rposition(|byte| !is_word(*byte) || *byte == b'/');
    name.is_some_and(|slash| before[..=slash].ends_with(b"://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_like_values_are_redacted() {
        let key = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5";
        for (text, shown) in [
            (format!("key sk-ant-{key} is set"), "key sk-**** is set".to_owned()),
            (format!("ghp_{key}"), "ghp_****".to_owned()),
            ("AKIAIOSFODNN7EXAMPLE".to_owned(), "AKIA****".to_owned()),
            (format!("(glpat-{key})\n"), "(glpat-****)\n".to_owned()),
            (format!("Authorization: Bearer {key}"), "Authorization: Bearer ****".to_owned()),
            ("DB_PASSWORD=hunter2hunter2".to_owned(), "DB_PASSWORD=****".to_owned()),
            (format!("{{\"api_key\": \"{key}\"}}"), "{\"api_key\": \"****\"}".to_owned()),
            (format!("token: {key}"), "token: ****".to_owned()),
            ("postgres://me:s3cret@db/x".to_owned(), "postgres://me:****@db/x".to_owned()),
            (format!("é {key} ghp_{key} ü"), format!("é {key} ghp_**** ü")),
        ] {
            assert_eq!(redact_text(&text), shown, "{text}");
        }
    }

    #[test]
    fn ordinary_text_is_not_redacted() {
        for text in [
            "",
            "the token is expired",
            "token: something-else",
            "max_token=40960000",
            "password: required",
            "TASK-2026-02-09-057",
            "https://example.com:8080/a@b",
            "sk-learn is a library with a long name",
            "see docs/secret-handling.md",
            "commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
            "passwords of users are hashed",
        ] {
            assert!(matches!(redact_text(text), Cow::Borrowed(_)), "{text}: {}", redact_text(text));
        }
    }
}
