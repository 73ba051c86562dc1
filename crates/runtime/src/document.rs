//! What an agent leaves in a file or prints as a document: whether it is whole, and where in what
//! was printed it stands.
//!
//! What a document does is not known here; what makes one whole is said by the core.

use adjutant_core::aof::Incoming;
use adjutant_core::dialect::{Document, DocumentKind, read, read_as};
use adjutant_store::yaml;
use serde_json::Value;

/// The most places where a document is looked for in what was printed.
const PLACES_MAX: usize = 64;

/// Says whether these bytes are a whole document of this kind, with nothing wrong in it. One that
/// is half written is not: the fields that must be there are not all there.
pub fn is_whole(kind: DocumentKind, bytes: &[u8]) -> bool {
    read_as(kind, bytes, &yaml::read).is_ok()
}

/// Says whether a line is an object in JSON that is meant to be a document of this kind.
pub fn is_in_line(kind: DocumentKind, line: &str) -> bool {
    if !line.starts_with('{') || !kind.keys().iter().all(|key| line.contains(key)) {
        return false;
    }
    is_kind(kind, serde_json::from_str(line).ok().as_ref())
}

/// Finds the document of this kind that ends what was printed.
///
/// In JSON, it is the last object that begins at the start of a line, whatever comes after it. In
/// YAML, it begins with a line `version: …`, after a line `---` or after the fence of a block, and
/// goes on for as long as there are keys and what is below them.
pub fn at_end(kind: DocumentKind, output: &str) -> Option<String> {
    let starts: Vec<usize> = starts(output).collect();
    let last = starts.iter().rev().take(PLACES_MAX).map(|at| &output[*at..]);
    let json =
        last.clone().filter(|text| text.starts_with('{')).find_map(|text| object(kind, text));
    if json.is_some() || !kind.speaks_yaml() {
        return json;
    }
    let texts: Vec<&str> = last.map(one_document).collect();
    let sound = texts.iter().find(|text| is_document(kind, text));
    sound.or_else(|| texts.iter().find(|text| is_meant(kind, text))).map(|text| (*text).to_owned())
}

/// Returns where a document may begin, the first place first.
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

/// Reads the object a text begins with, if it is a document of this kind.
fn object(kind: DocumentKind, text: &str) -> Option<String> {
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let first = objects.next()?.ok();
    let end = objects.byte_offset();
    is_kind(kind, first.as_ref()).then(|| text[..end].to_owned())
}

fn is_kind(kind: DocumentKind, value: Option<&Value>) -> bool {
    value.and_then(Value::as_object).and_then(DocumentKind::of) == Some(kind)
}

/// Returns a text up to where its first document ends.
fn one_document(text: &str) -> &str {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if !goes_on(line.trim_end()) {
            return &text[..at];
        }
        at += line.len();
    }
    text
}

/// Says whether a line can be one of a mapping: a key, or what is below one.
fn goes_on(line: &str) -> bool {
    let key = line.split_once(':').is_some_and(|(key, _)| {
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-\"'".contains(c))
    });
    let below = line.is_empty() || line.starts_with([' ', '#', ']', '}']);
    key || below || line == "-" || line.starts_with("- ")
}

fn is_document(kind: DocumentKind, text: &str) -> bool {
    let is_it = |document: &Document| document.kind() == kind;
    matches!(read(text.as_bytes(), &yaml::read), Incoming::Document(sent) if is_it(&sent.document))
}

/// Says whether a text is meant to be a document of this kind, with something wrong in it.
fn is_meant(kind: DocumentKind, text: &str) -> bool {
    let Incoming::Refused(refusal) = read(text.as_bytes(), &yaml::read) else { return false };
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
        at_end(DocumentKind::Result, output)
    }

    fn attempt_in(output: &str) -> Option<String> {
        at_end(DocumentKind::AttemptCompletion, output)
    }

    #[test]
    fn half_a_document_is_not_whole() {
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
    fn a_result_stands_at_the_end() {
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
    fn a_result_that_is_wrong_is_one_all_the_same() {
        let wrong = RESULT.replace("completed\n", "finished\n");
        assert_eq!(result_in(&format!("Done.\n---\n{wrong}")), Some(wrong));
    }

    #[test]
    fn the_last_object_that_is_an_attempt_counts() {
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
    fn a_line_may_be_a_document() {
        let kind = DocumentKind::AttemptCompletion;
        assert!(is_in_line(kind, r#"{"taskId":"A","result":"what?"}"#));
        assert!(!is_in_line(kind, r#"{"taskId":"A","results":"x"}"#));
        assert!(!is_in_line(kind, r#" {"taskId":"A","result":"x"}"#));
        assert!(!is_in_line(kind, r#"{"taskId":"A","result":"x""#));
        assert!(!is_in_line(kind, r#"{"x":{"taskId":"A","result":"x"}}"#));
    }
}
