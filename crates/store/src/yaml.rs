//! Documents in YAML that others wrote: plain YAML only, and every problem named; and how they are
//! printed.
//!
//! What the fields mean is not known here.

mod print;
mod scan;

pub use print::print;

use adjutant_core::answer::Problem;
use serde_json::{Map, Value};

use crate::frontmatter::{self, ReadError};

/// Reads a document that is one mapping. Aliases, anchors, tags, keys that come twice, and more
/// than one document are refused, each at its path: what a reader sees is what is meant.
pub fn read(text: &str) -> Result<Map<String, Value>, Vec<Problem>> {
    let problems = scan::scan(text);
    if !problems.is_empty() {
        return Err(problems);
    }
    frontmatter::read(text).map_err(|error| vec![problem(&error)])
}

/// Lines of front matter are counted from the fence above it, which is not there.
fn problem(error: &ReadError) -> Problem {
    match error {
        ReadError::TooLong { .. } => Problem::new("", error.to_string()),
        ReadError::Invalid { line, column, what } => {
            Problem::new("", format!("line {}, column {column}: {what}", line.saturating_sub(1)))
        }
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
    fn what_is_not_plain_is_refused_at_its_path_all_of_it() {
        check(
            "a: &x 1\nb: *x\nc:\n  - !!str 2\n  - d: !local {e: 1, e: 2}\na: 3\n",
            &[
                "a: line 1, column 7: an anchor is not taken here: write the value out",
                "b: line 2, column 4: an alias is not taken here: write the value out",
                "c[0]: line 4, column 11: a tag is not taken here: take it away",
                "c[1].d: line 5, column 15: a tag is not taken here: take it away",
                "c[1].d.e: line 5, column 22: the key is there twice",
                "a: line 6, column 1: the key is there twice",
            ],
        );
        check("a: *y\n", &["a: line 1, column 4: an alias is not taken here: write the value out"]);
        check("a: {<<: {b: 1}}\n", &["a.<<: line 1, column 5: a merge is not taken here"]);
        check("? [a]\n: 1\n", &["line 1, column 3: a key must be text"]);
        check("a: 1\n---\nb: 2\n", &["line 2, column 1: a second document starts here"]);
    }

    #[test]
    fn a_tab_in_the_indentation_is_called_one() {
        check("a:\n\tb: 1\n", &["line 2: a tab in the indentation: YAML takes blanks only"]);
    }

    #[test]
    fn what_is_no_yaml_or_no_mapping_is_refused() {
        let wrong = |text: &str| read(text).expect_err("refused").len();
        assert_eq!(wrong("a: [1\n"), 1);
        assert_eq!(wrong("- a\n"), 1);
        assert_eq!(wrong("just words\n"), 1);
        let deep = format!("a: {}{}\n", "[".repeat(65), "]".repeat(65));
        check(&deep, &["line 1, column 67: is nested deeper than 64 levels"]);
    }
}
