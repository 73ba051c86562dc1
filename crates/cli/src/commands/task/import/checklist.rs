//! Reads a Markdown checklist: `- [ ] Title`, with the body and the parts of a task indented.

use super::import_item::{ImportItem, LineProblem};

/// The columns that a tab stands for.
const TAB_COLUMNS: usize = 4;

/// Reads the unchecked items. Text that belongs to no item is left out, but an item without a box
/// is a problem: it may be meant as a task.
pub(super) fn read(text: &str) -> Result<Vec<ImportItem>, Vec<LineProblem>> {
    let mut reader = ChecklistReader::default();
    for (number, line) in (1_u32..).zip(text.lines()) {
        reader.read_line(number, line);
    }
    reader.finish()
}

#[derive(Default)]
struct ChecklistReader {
    items: Vec<ImportItem>,
    bodies: Vec<Vec<String>>,
    /// The items that contain the current line, the innermost last.
    open: Vec<OpenItem>,
    /// The mark that ends the current code block.
    fence: Option<&'static str>,
    problems: Vec<LineProblem>,
}

struct OpenItem {
    indent: usize,
    /// The column where the text of the item starts.
    content: usize,
    /// The place in the list; `None` for a checked item.
    place: Option<usize>,
}

impl ChecklistReader {
    fn read_line(&mut self, number: u32, line: &str) {
        let trimmed = line.trim_start();
        let indent = columns(&line[..line.len() - trimmed.len()]);
        let is_code = self.is_code(trimmed);
        if trimmed.is_empty() {
            return self.push_body("");
        }
        let bullet = bullet_length(trimmed).filter(|_| !is_code);
        let Some(bullet) = bullet else {
            self.close_items(|open| indent < open.content && !is_code);
            return self.push_body(&without_indent(line, self.body_column()));
        };
        match parse_box(&trimmed[bullet..]) {
            Some((is_checked, title)) => {
                self.close_items(|open| indent <= open.indent);
                self.open_item(number, indent, bullet, is_checked, title);
            }
            None if self.open.last().is_some_and(|open| indent > open.indent) => {
                self.push_body(&without_indent(line, self.body_column()));
            }
            None => {
                let title = trimmed[bullet..].trim();
                let message = format!("this item has no box; write \"- [ ] {title}\" for a task");
                self.problems.push(LineProblem::new(number, message));
            }
        }
    }

    /// Returns whether a line belongs to a code block, and notes where blocks begin and end.
    fn is_code(&mut self, trimmed: &str) -> bool {
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (self.fence, mark) {
            (None, Some(mark)) => self.fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => self.fence = None,
            (None, None) => return false,
            (Some(_), _) => {}
        }
        true
    }

    fn close_items(&mut self, is_over: impl Fn(&OpenItem) -> bool) {
        while self.open.last().is_some_and(&is_over) {
            self.open.pop();
        }
    }

    fn open_item(
        &mut self,
        line: u32,
        indent: usize,
        bullet: usize,
        is_checked: bool,
        title: &str,
    ) {
        let place = (!is_checked).then_some(self.items.len());
        if let Some(place) = place {
            let parent = self.open.iter().rev().find_map(|open| open.place);
            if let Some(parent) = parent {
                self.items[parent].depends_on.push(place);
            }
            let fields = vec![("title".to_owned(), vec![title.to_owned()])];
            self.items.push(ImportItem { line, fields, parent, depends_on: vec![] });
            self.bodies.push(vec![]);
        }
        self.open.push(OpenItem { indent, content: indent + bullet, place });
    }

    fn body_column(&self) -> usize {
        self.open.last().map_or(0, |open| open.content)
    }

    fn push_body(&mut self, line: &str) {
        if let Some(place) = self.open.last().and_then(|open| open.place) {
            self.bodies[place].push(line.to_owned());
        }
    }

    fn finish(mut self) -> Result<Vec<ImportItem>, Vec<LineProblem>> {
        for (item, body) in self.items.iter_mut().zip(&self.bodies) {
            let body = body.join("\n");
            let body = body.trim_matches('\n').trim_end();
            if !body.is_empty() {
                item.fields.push(("body".to_owned(), vec![format!("{body}\n")]));
            }
        }
        if self.items.is_empty() && self.problems.is_empty() {
            self.problems.push(LineProblem::of_file("it has no unchecked item \"- [ ] Title\""));
        }
        if self.problems.is_empty() { Ok(self.items) } else { Err(self.problems) }
    }
}

/// Returns the length of a list mark with the space after it: `- `, `* `, `+ `, `1. ` or `1) `.
fn bullet_length(text: &str) -> Option<usize> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mark = text[digits..].chars().next()?;
    let is_mark = match digits {
        0 => matches!(mark, '-' | '*' | '+'),
        _ => matches!(mark, '.' | ')'),
    };
    let rest = text.get(digits + 1..).filter(|_| is_mark)?;
    let spaces = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    (spaces > 0).then_some(digits + 1 + spaces)
}

/// Returns whether the box is checked, and the text after it.
fn parse_box(text: &str) -> Option<(bool, &str)> {
    let rest = text.strip_prefix('[')?;
    let mark = rest.chars().next().filter(|mark| matches!(mark, ' ' | 'x' | 'X'))?;
    let title = rest[1..].strip_prefix(']')?;
    (title.is_empty() || title.starts_with([' ', '\t'])).then(|| (mark != ' ', title.trim()))
}

fn columns(indent: &str) -> usize {
    indent.chars().map(|c| if c == '\t' { TAB_COLUMNS } else { 1 }).sum()
}

/// Removes up to this many columns of indentation.
fn without_indent(line: &str, columns: usize) -> String {
    let mut rest = line;
    let mut removed = 0;
    while removed < columns {
        removed += match rest.as_bytes().first() {
            Some(b' ') => 1,
            Some(b'\t') => TAB_COLUMNS,
            _ => break,
        };
        rest = &rest[1..];
    }
    rest.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (u32, String, Option<usize>, Vec<usize>, Option<String>);

    fn rows(text: &str) -> Vec<Row> {
        let items = read(text).expect("it is good");
        let field = |item: &ImportItem, name: &str| {
            let found = item.fields.iter().find(|(own, _)| own == name);
            found.map(|(_, texts)| texts[0].clone())
        };
        let row = |item: ImportItem| {
            let (title, body) = (field(&item, "title"), field(&item, "body"));
            (item.line, title.unwrap_or_default(), item.parent, item.depends_on, body)
        };
        items.into_iter().map(row).collect()
    }

    #[test]
    fn checklist_item_waits_for_the_items_under_it() {
        let text = "# Plan\n\nFor *May*.\n\n- [ ] Release\n  - [ ] Changelog\n    - [ ] Collect\n  \
                    - [x] Version\n* [ ] Announce\n1. [ ] Rest\n";
        assert_eq!(
            rows(text),
            [
                (5, "Release".into(), None, vec![1], None),
                (6, "Changelog".into(), Some(0), vec![2], None),
                (7, "Collect".into(), Some(1), vec![], None),
                (9, "Announce".into(), None, vec![], None),
                (10, "Rest".into(), None, vec![], None),
            ]
        );
    }

    #[test]
    fn checklist_text_under_an_item_is_its_body() {
        let text = "- [ ] One\n\n  First line,\n    deeper.\n  - a plain point\n  ```\n  - [ ] code\n  \
                    ```\n\nNot indented.\n- [x] Done\n  with text\n  - [ ] Still open\n\t- [ ] Tabs\n";
        assert_eq!(
            rows(text),
            [
                (
                    1,
                    "One".into(),
                    None,
                    vec![],
                    Some("First line,\n  deeper.\n- a plain point\n```\n- [ ] code\n```\n".into())
                ),
                (13, "Still open".into(), None, vec![2], None),
                (14, "Tabs".into(), Some(1), vec![], None),
            ]
        );
    }

    #[test]
    fn checklist_item_without_a_box_is_named() {
        let problems = |text| {
            let problems = read(text).expect_err("it is wrong");
            problems.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            problems("- [ ] One\n- Two\n"),
            ["line 2: this item has no box; write \"- [ ] Two\" for a task"]
        );
        let none = ["it has no unchecked item \"- [ ] Title\""];
        assert_eq!(problems("Just text.\n"), none);
        assert_eq!(problems(""), none);
        assert_eq!(problems("- [x] Done\n"), none);
    }
}
