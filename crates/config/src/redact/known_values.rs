//! The secrets of a project by value: its tokens, and what its configuration names.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::stream::StreamRedactor;
use super::{PLAIN_REPLACEMENT, REPLACEMENT, RedactionScope};
use crate::{Config, OPERATOR_TOKEN_FILE, run_token};

/// A shorter value is not redacted: it would be found in ordinary text.
const VALUE_BYTES_MIN: usize = 8;
/// A line of a longer text, such as a file of credentials, is a value if it has so many bytes.
const LINE_BYTES_MIN: usize = 16;
/// How much of a value is compared. Bounds what a stream holds back.
const VALUE_BYTES_MAX: usize = 4096;
/// How much of a file with a secret is read.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Redacts the secrets of a project, which it knows by value. Clones share the values.
#[derive(Clone, Default)]
pub struct SecretRedactor {
    values: Arc<RwLock<Arc<Vec<Vec<u8>>>>>,
}

impl SecretRedactor {
    /// Knows the secrets of a data folder and of its configuration: the operator's token, the
    /// secret of run tokens, the values of the variables and files that the configuration names,
    /// the addresses of notification rules, and the credentials of a fleet.
    pub fn for_project(root: &Path, config: &Config) -> Self {
        let redactor = Self::default();
        redactor.add_project(root, config);
        redactor
    }

    pub fn from_values<V: AsRef<str>>(values: impl IntoIterator<Item = V>) -> Self {
        let redactor = Self::default();
        redactor.add_all(values);
        redactor
    }

    /// Adds the secrets of a configuration that was changed. Earlier values stay redacted.
    pub fn add_project(&self, root: &Path, config: &Config) {
        let token_file = config.server.token_file.clone();
        let rules = config.notify.iter();
        let files = rules.clone().flat_map(|rule| [&rule.url_file, &rule.secret_file]).flatten();
        let nats = &config.nats;
        let files = files.chain(&nats.credentials).chain(&nats.key).chain(&nats.nkey);
        let files = files.chain([&nats.node_key]).cloned();
        let files = files.chain([
            token_file.unwrap_or_else(|| PathBuf::from(OPERATOR_TOKEN_FILE)),
            PathBuf::from(run_token::FILE),
        ]);
        let variables = config.secret_variables();
        let values = variables.iter().filter_map(|name| std::env::var(name).ok());
        let addresses = rules.filter_map(|rule| rule.url.clone());
        let passwords = config.store.as_deref().map(url_passwords).unwrap_or_default();
        let files = files.filter_map(|file| read_small_file(&root.join(file)));
        self.add_all(files.chain(values).chain(addresses).chain(passwords));
    }

    /// Adds a value, for every clone of this redactor.
    pub fn add(&self, value: &str) {
        self.add_all([value]);
    }

    fn add_all<V: AsRef<str>>(&self, added: impl IntoIterator<Item = V>) {
        let mut shared = self.values.write().unwrap_or_else(PoisonError::into_inner);
        let mut values = Vec::clone(&shared);
        for text in added {
            values.extend(secrets_in(text.as_ref()));
        }
        values.sort();
        values.dedup();
        *shared = Arc::new(values);
    }

    /// Returns the values, for another process that redacts.
    pub fn values(&self) -> Vec<String> {
        let values = self.shared_values();
        values.iter().map(|value| String::from_utf8_lossy(value).into_owned()).collect()
    }

    pub(super) fn shared_values(&self) -> Arc<Vec<Vec<u8>>> {
        Arc::clone(&self.values.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the text with the secrets of the scope redacted.
    pub fn redact<'t>(&self, text: &'t str, scope: RedactionScope) -> Cow<'t, str> {
        match self.redact_bytes(text.as_bytes(), scope) {
            // A redacted range begins and ends at whole characters, so the rest is still UTF-8.
            Some((bytes, _)) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
            None => Cow::Borrowed(text),
        }
    }

    /// Returns the redacted bytes with the number of redactions; `None` if there are none.
    pub fn redact_bytes(&self, bytes: &[u8], scope: RedactionScope) -> Option<(Vec<u8>, u64)> {
        redact_whole(self.stream(scope), bytes)
    }

    /// Like [`SecretRedactor::redact_bytes`], for a file that is parsed again.
    pub fn redact_file(&self, bytes: &[u8], scope: RedactionScope) -> Option<(Vec<u8>, u64)> {
        let stream = StreamRedactor::new(self.shared_values(), scope, PLAIN_REPLACEMENT);
        redact_whole(stream, bytes)
    }

    /// Returns a redactor for a stream of bytes. Values that are added later are not redacted in it.
    pub fn stream(&self, scope: RedactionScope) -> StreamRedactor {
        StreamRedactor::new(self.shared_values(), scope, REPLACEMENT)
    }
}

fn redact_whole(mut stream: StreamRedactor, bytes: &[u8]) -> Option<(Vec<u8>, u64)> {
    let mut redacted = Vec::new();
    stream.push(bytes, |piece| redacted.extend_from_slice(piece));
    stream.finish(|piece| redacted.extend_from_slice(piece));
    let count = stream.redactions();
    (count > 0).then_some((redacted, count))
}

impl std::fmt::Debug for SecretRedactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretRedactor")
    }
}

/// Returns the values to look for in other text, each also as JSON writes it.
fn secrets_in(text: &str) -> Vec<Vec<u8>> {
    let text = text.trim();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let min = if lines.len() > 1 { LINE_BYTES_MIN } else { VALUE_BYTES_MIN };
    let is_marker = |line: &&str| line.starts_with("-----") || line.starts_with("****");
    let values = lines.into_iter().filter(|line| line.len() >= min && !is_marker(line));
    let mut found = Vec::new();
    for value in values.map(secret_part) {
        if value.len() < VALUE_BYTES_MIN {
            continue;
        }
        let mut end = value.len().min(VALUE_BYTES_MAX);
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        let value = &value[..end];
        let quoted = json_text(value);
        if quoted != value {
            found.push(quoted.into_bytes());
        }
        found.push(value.as_bytes().to_owned());
    }
    found
}

/// Returns the part of an address that is secret, which is what follows the host. Other values are
/// secret as a whole.
fn secret_part(value: &str) -> &str {
    let rest = value.strip_prefix("https://").or_else(|| value.strip_prefix("http://"));
    rest.map_or(value, |rest| rest.split_once('/').map_or("", |(_, path)| path))
}

/// Returns a text as it is between the quotes of a JSON string.
fn json_text(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\t' => out.push_str("\\t"),
            _ => out.push(c),
        }
        out
    })
}

/// Returns the passwords in a list of addresses such as `nats://name:password@host`.
fn url_passwords(addresses: &str) -> Vec<String> {
    let login = |address: &str| {
        let (_, rest) = address.split_once("://").unwrap_or(("", address));
        let (login, _) = rest.rsplit_once('@')?;
        Some(login.split_once(':').map_or(login, |(_, password)| password).to_owned())
    };
    addresses.split(',').filter_map(login).collect()
}

/// Reads a plain file; `None` if it is missing, no plain file or no text. A pipe is not opened,
/// because opening one would block.
fn read_small_file(path: &Path) -> Option<String> {
    if !fs::metadata(path).is_ok_and(|file| file.is_file()) {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}
