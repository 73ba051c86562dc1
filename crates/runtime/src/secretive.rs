//! Values that look like secrets, covered before they get into a log, a notice or a page.
//!
//! It goes by how a text looks: by what keys of well-known services begin with, by the name a value
//! is given, by the place in an address. It is a net and no wall: a secret that looks like any other
//! word passes.

use std::borrow::Cow;

/// What stands for what is covered.
const COVER: &[u8] = b"****";

/// What keys of well-known services begin with, and how much follows at least.
const BEGINNINGS: [(&[u8], usize); 30] = [
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

/// What the names of secrets end with, in lower case.
const NAMES: [&str; 10] = [
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

/// The shortest value that is covered for its name alone.
const VALUE_MIN: usize = 8;
/// The most bytes that wait for what comes next.
const HELD_MAX: usize = 512;
/// How long a word is that is no plain one.
const LONG: usize = 20;

/// Returns a text with everything covered in it that looks like a secret.
pub fn masked(text: &str) -> Cow<'_, str> {
    match cover(text.as_bytes(), 0) {
        // What is covered begins and ends with plain letters, so that the rest is text as before.
        Some(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        None => Cow::Borrowed(text),
    }
}

/// Returns the bytes from a place on with what looks like a secret covered; none if nothing does.
/// What is before that is known already, and says what the first of them are called.
pub(crate) fn cover(bytes: &[u8], from: usize) -> Option<Vec<u8>> {
    let goes_on = from > 0 && is_word(bytes[from - 1]);
    let begin = if goes_on { end_of_word(bytes, from) } else { from };
    let (mut out, mut kept, mut at) = (Vec::new(), from, begin);
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        let end = end_of_word(bytes, at);
        // Everything an agent prints comes by here: most words are too short to be looked into.
        let long = end - at >= VALUE_MIN || bytes.get(end) == Some(&b'@');
        if let Some(from) = long.then(|| secret_from(bytes, at, end)).flatten() {
            out.extend_from_slice(&bytes[kept..from]);
            out.extend_from_slice(COVER);
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

/// Returns how many bytes at the end of what came so far may be the beginning of a secret.
pub(crate) fn unfinished(bytes: &[u8]) -> usize {
    let part = |byte: &&u8| is_word(**byte) || matches!(**byte, b'=' | b':' | b'"' | b'\'');
    let length = bytes.iter().rev().take(HELD_MAX).take_while(part).count();
    let end = &bytes[bytes.len() - length..];
    let word = &end[end.iter().rposition(|byte| !is_word(*byte)).map_or(0, |at| at + 1)..];
    let begins = |(beginning, _): &(&[u8], usize)| {
        word.starts_with(beginning) || (!word.is_empty() && beginning.starts_with(word))
    };
    let text = String::from_utf8_lossy(end).to_ascii_lowercase();
    let named = text.contains(['=', ':']) && NAMES.iter().any(|name| text.contains(name));
    let may = BEGINNINGS.iter().any(begins) || named || text.contains("://");
    if may { length } else { 0 }
}

/// Returns where the word ends that a place is in.
fn end_of_word(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && is_word(bytes[at]) {
        at += 1;
    }
    at
}

/// Says which bytes a word, as a secret is one, is made of.
fn is_word(byte: u8) -> bool {
    WORD[byte as usize]
}

/// What a word is made of, by byte.
const WORD: [bool; 256] = {
    let mut word = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        let sign = matches!(byte, b'_' | b'-' | b'.' | b'+' | b'/' | b'~' | b'%');
        word[byte as usize] = byte.is_ascii_alphanumeric() || sign;
        byte += 1;
    }
    word
};

/// Returns from where on a word is to be covered, if it is.
fn secret_from(bytes: &[u8], at: usize, end: usize) -> Option<usize> {
    let word = &bytes[at..end];
    if let Some(beginning) = well_known(word) {
        return Some(at + beginning);
    }
    let before = &bytes[..at];
    let address = bytes.get(end) == Some(&b'@') && is_in_address(before, word);
    (address || is_named(before, word) || is_shown(before, word)).then_some(at)
}

/// Returns the length of the beginning by which a key is known.
fn well_known(word: &[u8]) -> Option<usize> {
    let is = |(beginning, rest): &(&[u8], usize)| {
        word.starts_with(beginning) && word.len() >= beginning.len() + rest && is_mixed(word)
    };
    BEGINNINGS.iter().find(|one| is(one)).map(|(beginning, _)| beginning.len())
}

/// Says whether there are letters and digits in it, as in no plain word.
fn is_mixed(word: &[u8]) -> bool {
    word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_alphabetic)
}

/// Says whether a word is the value of something that is called like a secret.
fn is_named(before: &[u8], word: &[u8]) -> bool {
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
    if !NAMES.iter().any(|end| name.ends_with(end)) {
        return false;
    }
    match sign {
        // A number says how many there may be.
        b'=' => !word.iter().all(u8::is_ascii_digit),
        // In a sentence, what follows may be a plain word.
        b':' => is_mixed(word) || word.len() >= LONG,
        _ => false,
    }
}

/// Says whether a word is what somebody shows to be let in, as in `Authorization: Bearer …`.
fn is_shown(before: &[u8], word: &[u8]) -> bool {
    let Some(before) = before.strip_suffix(b" ") else { return false };
    let ends = |scheme: &[u8]| {
        before.len() >= scheme.len()
            && before[before.len() - scheme.len()..].eq_ignore_ascii_case(scheme)
    };
    word.len() >= 16 && is_mixed(word) && (ends(b"bearer") || ends(b"authorization: basic"))
}

/// Says whether a word is the password in an address, as in `https://name:password@host`,
/// with the sign after it.
fn is_in_address(before: &[u8], word: &[u8]) -> bool {
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
    fn what_looks_like_a_secret_is_covered() {
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
            assert_eq!(masked(&text), shown, "{text}");
        }
    }

    #[test]
    fn what_does_not_is_left_as_it_is() {
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
            assert!(matches!(masked(text), Cow::Borrowed(_)), "{text}: {}", masked(text));
        }
    }
}
