//! Reads a list of JSON objects, or one object a line.

use serde_json::{Deserializer, Value};

use super::import_item::{ImportItem, LineProblem};

pub(super) fn read(text: &str) -> Result<Vec<ImportItem>, Vec<LineProblem>> {
    let mut items = Vec::new();
    let mut problems = Vec::new();
    for (line, value) in objects(text)? {
        match read_item(line, &value) {
            Ok(item) => items.push(item),
            Err(problem) => problems.push(problem),
        }
    }
    if items.is_empty() && problems.is_empty() {
        problems.push(LineProblem::of_file("it has no objects"));
    }
    if problems.is_empty() { Ok(items) } else { Err(problems) }
}

/// Returns the items of a list, or the documents of a stream, each with its line.
fn objects(text: &str) -> Result<Vec<(u32, Value)>, Vec<LineProblem>> {
    let problem = |error: &serde_json::Error| {
        let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
        vec![LineProblem::new(line, format!("is not JSON: {error}"))]
    };
    let mut documents = Deserializer::from_str(text).into_iter::<Value>();
    let mut found = Vec::new();
    loop {
        let at = documents.byte_offset();
        let skipped = text[at..].len() - text[at..].trim_start().len();
        let line = line_of(text, at + skipped);
        match documents.next() {
            None => break,
            Some(Ok(Value::Array(items))) => {
                let lines = item_lines(&text[at..]).into_iter().map(|own| line + own);
                found.extend(lines.zip(items));
            }
            Some(Ok(other)) => found.push((line, other)),
            Some(Err(error)) => return Err(problem(&error)),
        }
    }
    Ok(found)
}

fn line_of(text: &str, at: usize) -> u32 {
    let breaks = text[..at].bytes().filter(|byte| *byte == b'\n').count();
    u32::try_from(breaks).unwrap_or(u32::MAX).saturating_add(1)
}

/// Returns for each item of the list at the start of a valid text how many lines lie between the
/// start of the list and the item.
fn item_lines(text: &str) -> Vec<u32> {
    let text = text.trim_start();
    let (mut lines, mut line, mut depth) = (Vec::new(), 0, 0_u32);
    let (mut is_string, mut is_escaped, mut awaits_item) = (false, false, false);
    for byte in text.bytes() {
        if is_string {
            is_string = is_escaped || byte != b'"';
            is_escaped = byte == b'\\' && !is_escaped;
            continue;
        }
        if depth == 1 && awaits_item && !byte.is_ascii_whitespace() && byte != b']' {
            lines.push(line);
            awaits_item = false;
        }
        match byte {
            b'"' => is_string = true,
            b'[' | b'{' => {
                depth += 1;
                awaits_item |= depth == 1;
            }
            b']' | b'}' => depth -= 1,
            b',' => awaits_item |= depth == 1,
            b'\n' => line += 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    lines
}

fn read_item(line: u32, value: &Value) -> Result<ImportItem, LineProblem> {
    let Value::Object(object) = value else {
        return Err(LineProblem::new(line, "must be an object, such as {\"title\": \"Fix it\"}"));
    };
    let mut fields = Vec::new();
    for (name, value) in object.iter().filter(|(_, value)| !value.is_null()) {
        let texts = texts_of(value);
        let texts = texts.ok_or_else(|| {
            LineProblem::new(line, format!("{name}: must be a text, a number or a list of texts"))
        })?;
        fields.push((name.clone(), texts));
    }
    Ok(ImportItem { line, fields, ..ImportItem::default() })
}

fn texts_of(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Bool(_) | Value::Number(_) => Some(vec![value.to_string()]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        Value::Object(_) | Value::Null => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(u32, usize)> {
        let items = read(text).expect("it is good");
        items.iter().map(|item| (item.line, item.fields.len())).collect()
    }

    #[test]
    fn json_list_and_lines_have_line_numbers() {
        let list = "\n[\n  {\"title\": \"a [{\\\"\", \"tags\": [\"x\", \"y\"]},\n\n  {\"title\": \"b\",\n  \
                    \"body\": null, \"budget_tokens\": 5}\n]\n";
        assert_eq!(lines(list), [(3, 2), (5, 2)]);
        assert_eq!(lines("{\"title\": \"a\"}\n\n{\"title\": \"b\"}\n"), [(1, 1), (3, 1)]);
        assert_eq!(lines("[{\"title\": \"a\"}, {\"title\": \"b\"}]"), [(1, 1), (1, 1)]);
    }

    #[test]
    fn json_problems_name_the_line() {
        let problems = |text| {
            let problems = read(text).expect_err("it is wrong");
            problems.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(problems("[]"), ["it has no objects"]);
        assert_eq!(
            problems("[\n{\"title\": \"a\"},\n5,\n{\"title\": {}}]"),
            [
                "line 3: must be an object, such as {\"title\": \"Fix it\"}",
                "line 4: title: must be a text, a number or a list of texts",
            ]
        );
        assert!(problems("[\n{]")[0].starts_with("line 2: is not JSON: "));
    }
}
