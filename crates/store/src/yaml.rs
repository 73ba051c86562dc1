//! Reads YAML documents of other programs, plain YAML only and with every problem named,
//! and prints them.
//!
//! This module does not know what the fields mean.

mod print;
mod scan;

pub use print::print;

use adjutant_model::answer::FieldProblem;
use serde_json::{Map, Value};

use crate::frontmatter::{self, ReadError};

/// Reads a document that is one mapping. Aliases, anchors, tags, duplicate keys and further
/// documents are refused, each with its path, so that the text means what a person sees.
pub fn read(text: &str) -> Result<Map<String, Value>, Vec<FieldProblem>> {
    let problems = scan::scan(text);
    if !problems.is_empty() {
        return Err(problems);
    }
    frontmatter::read(text).map_err(|error| vec![problem(&error)])
}

/// The line numbers of [`ReadError`] count an opening fence, which these documents lack.
fn problem(error: &ReadError) -> FieldProblem {
    match error {
        ReadError::TooLong { .. } => FieldProblem::new("", error.to_string()),
        ReadError::Invalid { line, column, what } => FieldProblem::new(
            "",
            format!("line {}, column {column}: {what}", line.saturating_sub(1)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let problems = read(text).err().unwrap_or_default();
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, expected, "{text:?}");
    }

    #[test]
    fn plain_yaml_is_read() {
        let text = "# a mission\n---\nversion: \"1\"\nlist:\n  - a: 1\n    b: [x, y]\n  - |\n    \
                    two\n    lines\nat: 2025-01-15T10:30:00Z\nflag: true\n...\n";
        let expected = json!({
            "version": "1",
            "list": [{"a": 1, "b": ["x", "y"]}, "two\nlines\n"],
            "at": "2025-01-15T10:30:00Z",
            "flag": true,
        });
        assert_eq!(read(text).map(Value::Object), Ok(expected));
    }

    #[test]
    fn yaml_features_beyond_plain_are_all_refused_at_their_path() {
        check(
            "a: &x 1\nb: *x\nc:\n  - !!str 2\n  - d: !local {e: 1, e: 2}\na: 3\n",
            &[
                "a: line 1, column 7: anchors are not allowed: write the value out",
                "b: line 2, column 4: aliases are not allowed: write the value out",
                "c[0]: line 4, column 11: tags are not allowed: remove it",
                "c[1].d: line 5, column 15: tags are not allowed: remove it",
                "c[1].d.e: line 5, column 22: the key appears twice",
                "a: line 6, column 1: the key appears twice",
            ],
        );
        check("a: *y\n", &["a: line 1, column 4: aliases are not allowed: write the value out"]);
        check("a: {<<: {b: 1}}\n", &["a.<<: line 1, column 5: merge keys are not allowed"]);
        check("? [a]\n: 1\n", &["line 1, column 3: a key must be text"]);
        check("a: 1\n---\nb: 2\n", &["line 2, column 1: a second document starts here"]);
    }

    #[test]
    fn tab_in_indentation_is_named() {
        check("a:\n\tb: 1\n", &["line 2: a tab in the indentation: YAML allows only spaces"]);
    }

    #[test]
    fn invalid_yaml_and_non_mappings_are_refused() {
        let wrong = |text: &str| read(text).expect_err("refused").len();
        assert_eq!(wrong("a: [1\n"), 1);
        assert_eq!(wrong("- a\n"), 1);
        assert_eq!(wrong("just words\n"), 1);
        let deep = format!("a: {}{}\n", "[".repeat(65), "]".repeat(65));
        check(&deep, &["line 1, column 67: is nested deeper than 64 levels"]);
    }
}
