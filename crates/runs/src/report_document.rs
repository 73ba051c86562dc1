//! Finds report documents in an agent's output, and checks that a document is complete.
//!
//! It does not know what a document does; the core defines when one is complete.

use adjutant_core::protocols::aof::IncomingText;
use adjutant_core::protocols::dialect::{read, read_as};
use adjutant_model::document::{DocumentKind, ProtocolDocument};
use adjutant_store::yaml;
use serde_json::Value;

/// The most positions in the output at which a document is tried.
const STARTS_MAX: usize = 64;

/// Returns whether these bytes are a complete and valid document. A half-written document is not,
/// because required fields are missing.
pub fn is_whole(kind: DocumentKind, bytes: &[u8]) -> bool {
    read_as(kind, bytes, &yaml::read).is_ok()
}

/// Returns whether a line is a JSON object that is meant as a document of this kind.
pub fn is_document_line(kind: DocumentKind, line: &str) -> bool {
    if !line.starts_with('{') || !kind.keys().iter().all(|key| line.contains(key)) {
        return false;
    }
    is_kind(kind, serde_json::from_str(line).ok().as_ref())
}

/// Finds the last document of this kind in the output.
///
/// In JSON, it is the last matching object that begins at the start of a line; any text may follow.
/// In YAML, it begins with a line `version: …`, after a line `---` or after the opening fence of a
/// code block, and continues while the lines are keys or values below them.
pub fn find_last(kind: DocumentKind, output: &str) -> Option<String> {
    let starts: Vec<usize> = starts(output).collect();
    let last = starts.iter().rev().take(STARTS_MAX).map(|at| &output[*at..]);
    let json = last
        .clone()
        .filter(|text| text.starts_with('{'))
        .find_map(|text| leading_object(kind, text));
    if json.is_some() || !kind.can_be_yaml() {
        return json;
    }
    let texts: Vec<&str> = last.map(first_document).collect();
    let sound = texts.iter().find(|text| is_document(kind, text));
    sound
        .or_else(|| texts.iter().find(|text| is_invalid_document(kind, text)))
        .map(|text| (*text).to_owned())
}

/// Returns the offsets at which a document may begin, in order.
fn starts(output: &str) -> impl Iterator<Item = usize> {
    let mut at = 0;
    let lines = output.split_inclusive('\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        let bare = line.trim_end();
        let opens = bare == "---" || bare.starts_with("```");
        let begins = bare.starts_with('{') || bare.starts_with("version:");
        if opens { Some(at) } else { begins.then_some(start) }
    });
    std::iter::once(0).chain(lines)
}

/// Returns the JSON object at the start of a text, if it is a document of this kind.
fn leading_object(kind: DocumentKind, text: &str) -> Option<String> {
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let first = objects.next()?.ok();
    let end = objects.byte_offset();
    is_kind(kind, first.as_ref()).then(|| text[..end].to_owned())
}

fn is_kind(kind: DocumentKind, value: Option<&Value>) -> bool {
    value.and_then(Value::as_object).and_then(DocumentKind::from_keys) == Some(kind)
}

/// Returns the text up to the end of its first YAML document.
fn first_document(text: &str) -> &str {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if !continues_mapping(line.trim_end()) {
            return &text[..at];
        }
        at += line.len();
    }
    text
}

/// Returns whether a line can belong to a YAML mapping: a key, or a value below one.
fn continues_mapping(line: &str) -> bool {
    let key = line.split_once(':').is_some_and(|(key, _)| {
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-\"'".contains(c))
    });
    let below = line.is_empty() || line.starts_with([' ', '#', ']', '}']);
    key || below || line == "-" || line.starts_with("- ")
}

fn is_document(kind: DocumentKind, text: &str) -> bool {
    let is_it = |document: &ProtocolDocument| document.kind() == kind;
    matches!(read(text.as_bytes(), &yaml::read), IncomingText::Document(sent) if is_it(&sent.document))
}

/// Returns whether a text is meant as a document of this kind but is invalid.
fn is_invalid_document(kind: DocumentKind, text: &str) -> bool {
    let IncomingText::Refused(refusal) = read(text.as_bytes(), &yaml::read) else { return false };
    refusal.document.is_some_and(|(of, _)| of == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = "version: \"1\"\ntask_id: T042\nstatus: completed\nfiles_modified: []\n\
        log:\n  - {level: info, message: a, timestamp: \"2025-01-15T10:30:00Z\"}\n  \
        - {level: info, message: b, timestamp: \"2025-01-15T10:35:00Z\"}\n\
        completed_at: \"2025-01-15T10:45:00Z\"\n";
    const ATTEMPT: &str = "{\n  \"taskId\": \"API-1\",\n  \"result\": \"success\",\n  \
        \"summary\": \"}{ done\"\n}";

    fn result_in(output: &str) -> Option<String> {
        find_last(DocumentKind::Result, output)
    }

    fn attempt_in(output: &str) -> Option<String> {
        find_last(DocumentKind::AttemptCompletion, output)
    }

    #[test]
    fn document_half_written_is_not_whole() {
        for (kind, text) in
            [(DocumentKind::Result, RESULT), (DocumentKind::AttemptCompletion, ATTEMPT)]
        {
            assert!(is_whole(kind, text.as_bytes()));
            let last_line = text.trim_end().rfind('\n').expect("several lines");
            for end in 0..=last_line {
                assert!(!is_whole(kind, &text.as_bytes()[..end]), "{:?}", &text[..end]);
            }
        }
    }

    #[test]
    fn result_document_is_found_at_end_of_output() {
        let whole = Some(RESULT.to_owned());
        assert_eq!(result_in(RESULT), whole);
        assert_eq!(result_in(&format!("Thinking.\nversion: of what?\n{RESULT}")), whole);
        assert_eq!(result_in(&format!("Done:\n\n```yaml\n{RESULT}```\nBye.\n")), whole);
        assert_eq!(result_in(&format!("Done:\n---\n{RESULT}...\nBye.\n")), whole);
        let swapped =
            RESULT.replace("version: \"1\"\ntask_id: T042\n", "task_id: T042\nversion: \"1\"\n");
        assert_eq!(result_in(&format!("Done:\n---\n{swapped}")), Some(swapped.clone()));
        assert_eq!(result_in(&format!("{RESULT}That is all.\n")), whole);
        assert_eq!(result_in("version: \"1\"\ntask_id: T042\ninstruction: x\n"), None);
        assert_eq!(result_in("Nothing.\n"), None);
        assert_eq!(result_in(""), None);
    }

    #[test]
    fn result_document_that_is_invalid_is_still_found() {
        let wrong = RESULT.replace("completed\n", "finished\n");
        assert_eq!(result_in(&format!("Done.\n---\n{wrong}")), Some(wrong));
    }

    #[test]
    fn attempt_completion_is_last_matching_object() {
        let whole = Some(ATTEMPT.to_owned());
        assert_eq!(attempt_in(ATTEMPT), whole);
        assert_eq!(attempt_in(&format!("{{}}\n{ATTEMPT}\nBye.\n{{\"a\": 1}}\n")), whole);
        let first = ATTEMPT.replace("API-1", "API-0");
        assert_eq!(attempt_in(&format!("{first}\n{ATTEMPT}")), whole);
        assert_eq!(attempt_in(&format!("says {ATTEMPT}")), None);
        assert_eq!(attempt_in(&ATTEMPT[..ATTEMPT.len() - 1]), None);
        assert_eq!(attempt_in("{\"taskId\": \"API-1\", \"delegatedToMode\": \"x\"}"), None);
    }

    #[test]
    fn document_can_be_a_single_json_line() {
        let kind = DocumentKind::AttemptCompletion;
        assert!(is_document_line(kind, r#"{"taskId":"A","result":"what?"}"#));
        assert!(!is_document_line(kind, r#"{"taskId":"A","results":"x"}"#));
        assert!(!is_document_line(kind, r#" {"taskId":"A","result":"x"}"#));
        assert!(!is_document_line(kind, r#"{"taskId":"A","result":"x""#));
        assert!(!is_document_line(kind, r#"{"x":{"taskId":"A","result":"x"}}"#));
    }
}
