//! Recognises words that look like secrets: by the prefixes of well-known keys, by the name that a
//! word is given, or by the position in a URL.

use crate::run_token;

/// The prefixes of well-known keys, and how many bytes follow at least.
const KEY_PREFIXES: [(&[u8], usize); 35] = [
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
    (b"gldt-", 20),
    (b"glrt-", 20),
    (b"xoxb-", 10),
    (b"xoxp-", 10),
    (b"xoxa-", 10),
    (b"xoxr-", 10),
    (b"xoxs-", 10),
    (b"xapp-", 10),
    (b"xai-", 40),
    (b"gsk_", 40),
    (b"r8_", 30),
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

/// The addresses of webhooks. What follows such an address is its secret.
const WEBHOOK_ADDRESSES: [&[u8]; 8] = [
    b"hooks.slack.com/services/",
    b"hooks.slack.com/workflows/",
    b"hooks.slack.com/triggers/",
    b"discord.com/api/webhooks/",
    b"discordapp.com/api/webhooks/",
    b"ptb.discord.com/api/webhooks/",
    b"canary.discord.com/api/webhooks/",
    b"hooks.slack-gov.com/services/",
];

/// How many bytes follow the address of a webhook at least.
const WEBHOOK_BYTES_MIN: usize = 20;

/// The endings of the names of secrets, in lower case.
const SECRET_NAMES: [&str; 14] = [
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
    "accountkey",
    "sharedaccesskey",
    "account_key",
    "account-key",
];

/// The name of the signature in an address of Azure.
const SIGNATURE_NAME: &str = "sig";

/// What precedes the code in a link that signs a browser in.
const SIGN_IN_LINK: &[u8] = b"/login?code=";

/// The shortest value that is redacted because of its name.
const VALUE_MIN: usize = 8;
/// A value of this length is not taken for an ordinary word.
const LONG_VALUE_MIN: usize = 20;
/// The shortest credential, signature or code that is redacted because of its position.
const CREDENTIAL_MIN: usize = 16;

/// What the text before a word says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordContext {
    /// `PASSWORD=…`
    Assigned,
    /// `password: …`
    Described,
    /// `?sig=…`
    Signature,
    /// `Bearer …`
    Credential,
    /// `/login?code=…`
    SignInCode,
    /// `https://name:…`, which is a password if `@` follows.
    UrlLogin,
}

/// Returns the position in a word from which it must be redacted. With `look_alikes`, also words
/// that only look like a secret; else only tokens of runs.
pub(super) fn secret_start(
    bytes: &[u8],
    at: usize,
    end: usize,
    look_alikes: bool,
) -> Option<usize> {
    // All agent output passes here, so words that are too short are skipped first.
    if end - at < VALUE_MIN && bytes.get(end) != Some(&b'@') {
        return None;
    }
    let escaped = escape_len(bytes, at).map(|length| at + length).filter(|start| *start < end);
    [Some(at), escaped].into_iter().flatten().find_map(|start| {
        let word = &bytes[start..end];
        if run_token::starts_with_token(word) {
            return Some(start);
        }
        if !look_alikes {
            return None;
        }
        let known = known_prefix_len(word).or_else(|| webhook_prefix_len(word));
        let named = || {
            let context = word_context(&bytes[..start])?;
            is_secret_in(context, word, bytes.get(end)).then_some(start)
        };
        known.map(|prefix| start + prefix).or_else(named)
    })
}

/// Returns whether a word that the end of the bytes cuts off may turn out to be a secret.
pub(super) fn may_become_secret(bytes: &[u8], at: usize, look_alikes: bool) -> bool {
    let word = &bytes[at..];
    let escaped = escape_len(bytes, at);
    if escaped.is_some_and(|length| word.len() <= length) {
        return true;
    }
    [Some(0), escaped].into_iter().flatten().any(|skipped| {
        let (before, word) = (&bytes[..at + skipped], &word[skipped..]);
        let may_begin =
            |beginning: &[u8]| word.starts_with(beginning) || beginning.starts_with(word);
        let address = word.strip_prefix(b"//").unwrap_or(word);
        let may_be_address =
            |known: &&[u8]| address.starts_with(known) || known.starts_with(address);
        run_token::may_become_token(word)
            || (look_alikes
                && (KEY_PREFIXES.iter().any(|(beginning, _)| may_begin(beginning))
                    || word == b"/"
                    || WEBHOOK_ADDRESSES.iter().any(may_be_address)
                    || word_context(before).is_some()))
    })
}

/// Returns the end of the word at a position.
pub(super) fn end_of_word(bytes: &[u8], from: usize) -> usize {
    let length = bytes[from..].iter().position(|byte| !is_word(*byte));
    length.map_or(bytes.len(), |length| from + length)
}

/// Returns the start of the word that the bytes end with.
pub(super) fn start_of_last_word(bytes: &[u8], from: usize) -> usize {
    let before = bytes[from..].iter().rposition(|byte| !is_word(*byte));
    before.map_or(from, |before| from + before + 1)
}

/// Returns whether a byte can be part of a secret.
pub(super) fn is_word(byte: u8) -> bool {
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

/// Returns the length of the rest of an escape sequence with which a word begins, as in `\nsk-…`.
fn escape_len(bytes: &[u8], at: usize) -> Option<usize> {
    let after_backslash = at > 0 && bytes[at - 1] == b'\\';
    match bytes.get(at)? {
        b'n' | b'r' | b't' | b'b' | b'f' if after_backslash => Some(1),
        b'u' if after_backslash => Some(5),
        _ => None,
    }
}

fn known_prefix_len(word: &[u8]) -> Option<usize> {
    let is = |(beginning, rest): &(&[u8], usize)| {
        word.starts_with(beginning) && word.len() >= beginning.len() + rest && is_mixed(word)
    };
    KEY_PREFIXES.iter().find(|one| is(one)).map(|(beginning, _)| beginning.len())
}

/// Returns the length of the part of a webhook's address that is no secret.
fn webhook_prefix_len(word: &[u8]) -> Option<usize> {
    let address = word.strip_prefix(b"//").unwrap_or(word);
    let known = WEBHOOK_ADDRESSES.iter().find(|known| address.starts_with(known))?;
    let is_long = address.len() >= known.len() + WEBHOOK_BYTES_MIN;
    is_long.then_some(word.len() - address.len() + known.len())
}

/// Returns whether a word has letters and digits, unlike ordinary words.
fn is_mixed(word: &[u8]) -> bool {
    word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_alphabetic)
}

fn is_secret_in(context: WordContext, word: &[u8], next: Option<&u8>) -> bool {
    match context {
        // A number is a count, such as a token limit.
        WordContext::Assigned => word.len() >= VALUE_MIN && !word.iter().all(u8::is_ascii_digit),
        // In prose, an ordinary word may follow a colon.
        WordContext::Described => {
            word.len() >= LONG_VALUE_MIN || (word.len() >= VALUE_MIN && is_mixed(word))
        }
        WordContext::Signature => word.len() >= LONG_VALUE_MIN,
        WordContext::Credential => word.len() >= CREDENTIAL_MIN && is_mixed(word),
        WordContext::SignInCode => word.len() >= CREDENTIAL_MIN,
        WordContext::UrlLogin => next == Some(&b'@') && !word.contains(&b'/'),
    }
}

fn word_context(before: &[u8]) -> Option<WordContext> {
    if before.ends_with(SIGN_IN_LINK) {
        return Some(WordContext::SignInCode);
    }
    let named = name_context(before);
    named.or_else(|| credential_context(before)).or_else(|| url_login_context(before))
}

/// Returns the context if the text before a word gives it the name of a secret.
fn name_context(before: &[u8]) -> Option<WordContext> {
    let (sign, name) = trim_quote(before.trim_ascii_end()).trim_ascii_end().split_last()?;
    let context = match sign {
        b'=' => WordContext::Assigned,
        b':' => WordContext::Described,
        _ => return None,
    };
    let name = trim_quote(name.trim_ascii_end());
    let start = name.iter().rposition(|byte| !is_word(*byte)).map_or(0, |at| at + 1);
    let name = &name[start..];
    let is_signature =
        context == WordContext::Assigned && name.eq_ignore_ascii_case(SIGNATURE_NAME.as_bytes());
    let ends = |end: &str| {
        name.len() >= end.len()
            && name[name.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
    };
    if is_signature {
        Some(WordContext::Signature)
    } else {
        SECRET_NAMES.iter().any(|end| ends(end)).then_some(context)
    }
}

/// Removes a quote from the end, which may be escaped.
fn trim_quote(bytes: &[u8]) -> &[u8] {
    let quoted = bytes.strip_suffix(b"\"").or(bytes.strip_suffix(b"'"));
    quoted.map_or(bytes, |bytes| bytes.strip_suffix(b"\\").unwrap_or(bytes))
}

/// Returns the context of a credential, as in `Authorization: Bearer …`.
fn credential_context(before: &[u8]) -> Option<WordContext> {
    let before = before.strip_suffix(b" ")?;
    let ends = |scheme: &[u8]| {
        before.len() >= scheme.len()
            && before[before.len() - scheme.len()..].eq_ignore_ascii_case(scheme)
    };
    (ends(b"bearer") || ends(b"authorization: basic")).then_some(WordContext::Credential)
}

/// Returns the context of a password in a URL, as in `https://name:password@host`.
fn url_login_context(before: &[u8]) -> Option<WordContext> {
    let before = before.strip_suffix(b":")?;
    let slash = before.iter().rposition(|byte| !is_word(*byte) || *byte == b'/')?;
    before[..=slash].ends_with(b"://").then_some(WordContext::UrlLogin)
}
