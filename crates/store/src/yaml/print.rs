//! Prints a document as readable YAML: long texts at the top level become blocks.

use serde_json::{Map, Value};

use crate::frontmatter;

/// Prints a mapping, keys in the given order.
pub fn print(document: &Map<String, Value>) -> String {
    let pretty: String = document.iter().map(|(key, value)| field(key, value)).collect();
    // Some texts do not survive as blocks; then everything is written without blocks.
    if super::read(&pretty).is_ok_and(|read| read == *document) {
        pretty
    } else {
        frontmatter::write(document, "\n")
    }
}

fn field(key: &str, value: &Value) -> String {
    match value {
        Value::String(text) if is_block(text) => block(key, text),
        other => frontmatter::write(&Map::from_iter([(key.to_owned(), other.clone())]), "\n"),
    }
}

/// Returns whether a text has several lines, all of which a block shows unchanged.
fn is_block(text: &str) -> bool {
    let plain = |c: char| c == '\n' || !c.is_control();
    text.trim_end_matches('\n').contains('\n') && text.chars().all(plain) && !text.starts_with(' ')
}

fn block(key: &str, text: &str) -> String {
    let end = match text.len() - text.trim_end_matches('\n').len() {
        0 => "-",
        1 => "",
        _ => "+",
    };
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") };
    let lines: String = text.strip_suffix('\n').unwrap_or(text).split('\n').map(line).collect();
    format!("{key}: |{end}\n{lines}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::yaml::read;

    #[test]
    fn printed_document_reads_the_same() {
        for text in [
            "one line",
            "one line\n",
            "two\nlines",
            "two\nlines\n",
            "ends\nopen\n\n\n",
            "a\n\n  b\n",
            " starts\nwith a blank",
            "\nstarts\nwith a break",
            "odd \u{7}\nbell",
            "tab\n\tinside",
            "trailing \nblank\n \n",
            "windows\r\nlines\r\n",
            "---\n...\n",
            "# no\n# comment",
            "u\u{2028}v\nw\u{feff}",
        ] {
            let Value::Object(document) = json!({"version": "1", "instruction": text, "z": [1]})
            else {
                unreachable!()
            };
            let printed = print(&document);
            assert_eq!(read(&printed), Ok(document), "{printed}");
        }
    }

    #[test]
    fn long_text_is_printed_as_a_block() {
        let Value::Object(document) = json!({"version": "1", "instruction": "Do it.\n\n- a\n"})
        else {
            unreachable!()
        };
        let expected = "version: \"1\"\ninstruction: |\n  Do it.\n\n  - a\n";
        assert_eq!(print(&document), expected);
    }
}
