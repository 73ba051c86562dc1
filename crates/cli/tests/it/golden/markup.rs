//! Reduces an HTML page to its structure: one element or text a line, indented.

use std::fmt::Write as _;

/// Elements without an end tag.
const VOID: [&str; 6] = ["br", "hr", "img", "input", "link", "meta"];

/// Returns the structure of a page. The markup must be well-formed: every element is closed.
pub(super) fn structure(page: &str) -> String {
    let mut text = String::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        add_text(&mut text, open.len(), &rest[..at]);
        let (tag, after) = split_tag(&rest[at + 1..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name.trim()), "{text}");
            continue;
        }
        let _ = writeln!(text, "{}<{tag}>", "  ".repeat(open.len()));
        let name = tag.split_whitespace().next().unwrap_or_default().to_owned();
        if !tag.starts_with('!') && !VOID.contains(&&*name) {
            open.push(name);
        }
    }
    add_text(&mut text, open.len(), rest);
    assert!(open.is_empty(), "not closed: {open:?}");
    text
}

/// Splits at the end of a tag. A quoted attribute value may contain `>`.
fn split_tag(text: &str) -> (&str, &str) {
    let mut quoted = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '>' if !quoted => return (&text[..at], &text[at + 1..]),
            _ => {}
        }
    }
    panic!("a tag does not end: {text}");
}

fn add_text(to: &mut String, depth: usize, text: &str) {
    for line in text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()) {
        let _ = writeln!(to, "{}{line}", "  ".repeat(depth));
    }
}

/// Returns the links of a page to other pages of the same server.
pub(super) fn links(page: &str) -> Vec<String> {
    let parts = page.split("<a ").skip(1).filter_map(|part| part.split('>').next());
    let hrefs = parts.filter_map(|tag| tag.split("href=\"").nth(1)?.split('"').next());
    hrefs.filter(|href| href.starts_with('/')).map(str::to_owned).collect()
}

#[test]
fn page_structure_has_a_line_for_every_element_and_text() {
    let page =
        "<!DOCTYPE html><html><body class=\"a>b\">one\n<br>two<p id=x>three</p></body></html>";
    assert_eq!(
        structure(page),
        "<!DOCTYPE html>\n<html>\n  <body class=\"a>b\">\n    one\n    <br>\n    two\n    <p id=x>\n      \
         three\n"
    );
}
