//! The work log: one section of a task's body that grows by a line per report.

use crate::time::Stamp;

const HEADING: &str = "## Work Log";

/// One line of the work log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// When the report was sent.
    pub at: Stamp,
    /// How far the work is.
    pub progress: Option<String>,
    /// Anything else.
    pub notes: Option<String>,
    /// What it waits for.
    pub blockers: Vec<String>,
}

impl Entry {
    /// Says whether there is nothing to write down.
    pub fn is_empty(&self) -> bool {
        self.progress.is_none() && self.notes.is_none() && self.blockers.is_empty()
    }

    /// Renders the entry as one line, without its line break.
    pub fn line(&self) -> String {
        let blockers = (!self.blockers.is_empty()).then(|| self.blockers.join("; "));
        let parts = [("Progress", &self.progress), ("Notes", &self.notes), ("Blockers", &blockers)];
        let said: Vec<String> = parts
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name}: {}", single_line(value.as_ref()?))))
            .collect();
        format!("- {} {}", self.at, said.join(" | "))
    }

    /// Returns the body with this entry at the end of its work log, which is made if missing.
    /// Everything else in the body stays byte for byte.
    pub fn append_to(&self, body: &str) -> String {
        let eol = if body.contains("\r\n") { "\r\n" } else { "\n" };
        match section_end(body) {
            Some((at, gap)) => insert(body, at, gap, &self.line(), eol),
            None => with_section(body, &self.line(), eol),
        }
    }
}

/// Returns the body without the work log at its end; a log with something after it stays.
pub fn without(body: &str) -> &str {
    let Some((end, _)) = section_end(body) else { return body };
    if !body[end..].trim().is_empty() {
        return body;
    }
    let heading = body.lines().rev().find(|line| line.trim_end() == HEADING);
    let start = heading.map(|line| line.as_ptr() as usize - body.as_ptr() as usize);
    start.map_or(body, |start| &body[..start])
}

/// Returns the text with every kind of line break turned into a space.
pub fn single_line(text: &str) -> String {
    let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    text.replace("\r\n", " ").replace(breaks, " ")
}

/// What stands between the last line of the section and a new entry.
#[derive(Clone, Copy)]
enum Gap {
    None,
    BlankLine,
}

/// Finds the byte where the last line of the work log with something on it ends. A heading in a code
/// block is text; but a block that is never closed is none, or it would swallow what comes after.
fn section_end(body: &str) -> Option<(usize, Gap)> {
    let unclosed = unclosed(body).unwrap_or(body.len());
    let mut fence = Fence::default();
    let mut found: Option<(usize, Gap)> = None;
    let mut end = 0;
    for line in body.split_inclusive('\n') {
        let start = end;
        end += line.len();
        let content = line.trim_end();
        let code = fence.step(content) && start < unclosed;
        if !code && found.is_some() && is_heading(content) {
            break;
        }
        if !code && found.is_none() && content == HEADING {
            found = Some((end, Gap::BlankLine));
        } else if found.is_some() && !content.is_empty() {
            let gap = if content.starts_with("- ") { Gap::None } else { Gap::BlankLine };
            found = Some((end, gap));
        }
    }
    found
}

/// Returns the byte where a code block begins that is never closed.
fn unclosed(body: &str) -> Option<usize> {
    let mut fence = Fence::default();
    let (mut begins, mut at) = (0, 0);
    for line in body.split_inclusive('\n') {
        let before = fence.open.is_some();
        fence.step(line.trim_end());
        if !before {
            begins = at;
        }
        at += line.len();
    }
    fence.open.map(|_| begins)
}

fn is_heading(line: &str) -> bool {
    line == "#" || line == "##" || line.starts_with("# ") || line.starts_with("## ")
}

/// Follows Markdown's code fences line by line.
#[derive(Default)]
struct Fence {
    open: Option<(char, usize)>,
}

impl Fence {
    /// Takes the next line and says whether it belongs to a code block.
    fn step(&mut self, line: &str) -> bool {
        let inner = line.trim_start_matches(' ');
        let mark = inner.chars().next().filter(|c| matches!(c, '`' | '~'));
        let run = mark.map_or(0, |mark| inner.chars().take_while(|c| *c == mark).count());
        let indented = line.len() - inner.len() > 3;
        match (self.open, mark) {
            (None, Some(mark)) if run >= 3 && !indented => {
                self.open = Some((mark, run));
                true
            }
            (Some((open, length)), Some(mark)) if mark == open && run >= length && !indented => {
                if inner.len() == run {
                    self.open = None;
                }
                true
            }
            (open, _) => open.is_some(),
        }
    }
}

fn insert(body: &str, at: usize, gap: Gap, line: &str, eol: &str) -> String {
    let (before, after) = body.split_at(at);
    let broken = if before.ends_with('\n') { "" } else { eol };
    let blank = match gap {
        Gap::None => "",
        Gap::BlankLine => eol,
    };
    let next = if is_text(after) { eol } else { "" };
    [before, broken, blank, line, eol, next, after].concat()
}

/// Says whether something other than a blank line follows at once.
fn is_text(after: &str) -> bool {
    after.lines().next().is_some_and(|line| !line.trim().is_empty())
}

fn with_section(body: &str, line: &str, eol: &str) -> String {
    let broken = if body.is_empty() || body.ends_with('\n') { "" } else { eol };
    let blank = if body.is_empty() || body.ends_with(&[eol, eol].concat()) { "" } else { eol };
    [body, broken, blank, HEADING, eol, eol, line, eol].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(progress: &str) -> Entry {
        let at = Stamp::parse("2026-02-09T21:05:00.000Z").expect("a good time");
        Entry { at, progress: Some(progress.into()), notes: None, blockers: vec![] }
    }

    fn check(body: &str, expected: &str) {
        assert_eq!(entry("P").append_to(body), expected);
    }

    const LINE: &str = "- 2026-02-09T21:05:00.000Z Progress: P\n";

    #[test]
    fn an_entry_reads_as_the_protocol_shows_it() {
        let full = Entry {
            notes: Some("ETA after credentials arrive".into()),
            blockers: vec!["Awaiting API key".into(), "b".into()],
            ..entry("Implemented core logic")
        };
        assert_eq!(
            full.line(),
            "- 2026-02-09T21:05:00.000Z Progress: Implemented core logic | \
             Notes: ETA after credentials arrive | Blockers: Awaiting API key; b"
        );
    }

    #[test]
    fn a_value_cannot_forge_another_entry() {
        let forged = entry("x\r\n- 2026-01-01T00:00:00Z Progress: y\u{2028}z\n## Work Log");
        assert_eq!(forged.line().lines().count(), 1);
        assert_eq!(
            forged.line(),
            "- 2026-02-09T21:05:00.000Z Progress: x - 2026-01-01T00:00:00Z Progress: y z ## Work Log"
        );
    }

    #[test]
    fn a_missing_section_is_made_at_the_end() {
        check("", &format!("## Work Log\n\n{LINE}"));
        check("Do it.\n", &format!("Do it.\n\n## Work Log\n\n{LINE}"));
        check("Do it.", &format!("Do it.\n\n## Work Log\n\n{LINE}"));
        check("Do it.\n\n", &format!("Do it.\n\n## Work Log\n\n{LINE}"));
    }

    #[test]
    fn an_existing_section_is_appended_to_wherever_it_stands() {
        check("## Work Log\n\n- a\n", &format!("## Work Log\n\n- a\n{LINE}"));
        check("## Work Log\n\n- a", &format!("## Work Log\n\n- a\n{LINE}"));
        check("## Work Log\n", &format!("## Work Log\n\n{LINE}"));
        check(
            "A\n\n## Work Log\n\n- a\n\n## Notes\n\nB\n",
            &format!("A\n\n## Work Log\n\n- a\n{LINE}\n## Notes\n\nB\n"),
        );
        check("## Work Log\n## Notes\n", &format!("## Work Log\n\n{LINE}\n## Notes\n"));
        check(
            "## Work Log\n\nProse.\n\n# Next\n",
            &format!("## Work Log\n\nProse.\n\n{LINE}\n# Next\n"),
        );
    }

    #[test]
    fn windows_line_breaks_stay_windows_line_breaks() {
        let line = LINE.replace('\n', "\r\n");
        check("Do it.\r\n", &format!("Do it.\r\n\r\n## Work Log\r\n\r\n{line}"));
        check(
            "## Work Log\r\n\r\n- a\r\n\r\nEnd\r\n",
            &format!("## Work Log\r\n\r\n- a\r\n\r\nEnd\r\n\r\n{line}"),
        );
    }

    #[test]
    fn a_heading_in_a_code_block_is_text() {
        let body = "```\n## Work Log\n```\n";
        check(body, &format!("{body}\n## Work Log\n\n{LINE}"));
        let log = "## Work Log\n\n- a\n~~~\n## Not a heading\n~~~\n";
        check(log, &format!("{log}\n{LINE}"));
    }

    #[test]
    fn a_block_that_is_never_closed_swallows_nothing_that_comes_after() {
        let body = "## Work Log\n\n- x\n~~~\n\n## Expected outputs\n\n- a/a\n";
        assert_eq!(without(body), body);
    }

    #[test]
    fn a_block_that_is_never_closed_gets_one_section_and_no_more() {
        let body = "```\nopen\n";
        let once = entry("P").append_to(body);
        assert_eq!(once, format!("{body}\n## Work Log\n\n{LINE}"));
        assert_eq!(entry("P").append_to(&once), format!("{once}{LINE}"));
    }

    #[test]
    fn entries_never_leave_their_section() {
        let mut body = "Intro\n\n## Work Log\n\n## Later\n\ntext\n".to_owned();
        for _ in 0..3 {
            body = entry("P").append_to(&body);
        }
        assert_eq!(body, format!("Intro\n\n## Work Log\n\n{LINE}{LINE}{LINE}\n## Later\n\ntext\n"));
    }
}
