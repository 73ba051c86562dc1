//! Fuzz target: redaction of output that arrives in chunks.

use adjutant_config::redact::{RedactionScope, SecretRedactor};

/// Values that are known secrets; they overlap, and one has what JSON escapes.
const VALUES: [&str; 4] = ["known value", "value of it", "abcabcabcabd", "quoted \"one\""];

/// Whatever the chunks, the same is shown, and no known value is in it. The first byte gives the
/// size of the chunks.
pub fn redaction(bytes: &[u8]) {
    let Some((size, text)) = bytes.split_first() else { return };
    let redactor = SecretRedactor::from_values(VALUES);
    for scope in
        [RedactionScope::KnownValues, RedactionScope::OwnSecrets, RedactionScope::LookAlikes]
    {
        let whole = redactor.redact_bytes(text, scope);
        let whole = whole.map_or_else(|| text.to_owned(), |(whole, _)| whole);
        let (mut stream, mut shown) = (redactor.stream(scope), Vec::new());
        for chunk in text.chunks(usize::from(*size).max(1)) {
            stream.push(chunk, |bytes| shown.extend_from_slice(bytes));
        }
        stream.finish(|bytes| shown.extend_from_slice(bytes));
        assert_eq!(shown, whole, "in chunks of {size}");
        let again = redactor.redact_bytes(&shown, RedactionScope::KnownValues);
        assert_eq!(again, None, "a known value is shown");
    }
}
