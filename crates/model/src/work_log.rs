//! The work log: a section of a task's body that gets one line per report.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

const HEADING: &str = "## Work Log";

/// One line of the work log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkLogEntry {
    /// When the report was sent.
    pub at: Timestamp,
    /// How far the work is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// Anything else that the agent reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// What the work waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub blockers: Vec<String>,
}

impl WorkLogEntry {
    pub fn is_empty(&self) -> bool {
        self.progress.is_none() && self.notes.is_none() && self.blockers.is_empty()
    }

    /// Renders the entry as one line, without a line break.
    pub fn line(&self) -> String {
        let blockers = (!self.blockers.is_empty()).then(|| self.blockers.join("; "));
        let parts = [("Progress", &self.progress), ("Notes", &self.notes), ("Blockers", &blockers)];
        let values: Vec<String> = parts
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name}: {}", single_line(value.as_ref()?))))
            .collect();
        format!("- {} {}", self.at, values.join(" | "))
    }

    /// Returns the body with this entry at the end of its work log. Adds the section if it is
    /// missing, and leaves every other byte unchanged.
    pub fn append_to(&self, body: &str) -> String {
        let eol = if body.contains("\r\n") { "\r\n" } else { "\n" };
        match section_end(body) {
            Some((at, gap)) => insert_entry(body, at, gap, &self.line(), eol),
            None => with_section(body, &self.line(), eol),
        }
    }
}

/// Returns the body without the work log at its end. A work log with text after it stays.
pub fn strip_work_log(body: &str) -> &str {
    let Some((end, _)) = section_end(body) else { return body };
    if !body[end..].trim().is_empty() {
        return body;
    }
    let heading = body.lines().rev().find(|line| line.trim_end() == HEADING);
    let start = heading.map(|line| line.as_ptr() as usize - body.as_ptr() as usize);
    start.map_or(body, |start| &body[..start])
}

/// Replaces every kind of line break with a space.
pub fn single_line(text: &str) -> String {
    let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    text.replace("\r\n", " ").replace(breaks, " ")
}

/// What separates the section's last line from a new entry.
#[derive(Clone, Copy)]
enum EntryGap {
    None,
    BlankLine,
}

/// Finds the byte where the last non-blank line of the work log ends. A heading in a code block is
/// text; but an unclosed code block does not count, or it would swallow the rest of the body.
fn section_end(body: &str) -> Option<(usize, EntryGap)> {
    let unclosed = find_unclosed_block(body).unwrap_or(body.len());
    let mut fence = CodeFence::default();
    let mut found: Option<(usize, EntryGap)> = None;
    let mut end = 0;
    for line in body.split_inclusive('\n') {
        let start = end;
        end += line.len();
        let content = line.trim_end();
        let code = fence.is_code_line(content) && start < unclosed;
        if !code && found.is_some() && is_heading(content) {
            break;
        }
        if !code && found.is_none() && content == HEADING {
            found = Some((end, EntryGap::BlankLine));
        } else if found.is_some() && !content.is_empty() {
            let gap = if content.starts_with("- ") { EntryGap::None } else { EntryGap::BlankLine };
            found = Some((end, gap));
        }
    }
    found
}

/// Returns the byte where an unclosed code block begins.
fn find_unclosed_block(body: &str) -> Option<usize> {
    let mut fence = CodeFence::default();
    let (mut begins, mut at) = (0, 0);
    for line in body.split_inclusive('\n') {
        let before = fence.open.is_some();
        fence.is_code_line(line.trim_end());
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

/// Tracks Markdown code fences line by line.
#[derive(Default)]
struct CodeFence {
    open: Option<(char, usize)>,
}

impl CodeFence {
    /// Takes the next line and returns whether it belongs to a code block.
    fn is_code_line(&mut self, line: &str) -> bool {
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

fn insert_entry(body: &str, at: usize, gap: EntryGap, line: &str, eol: &str) -> String {
    let (before, after) = body.split_at(at);
    let broken = if before.ends_with('\n') { "" } else { eol };
    let blank = match gap {
        EntryGap::None => "",
        EntryGap::BlankLine => eol,
    };
    let next = if starts_with_text(after) { eol } else { "" };
    [before, broken, blank, line, eol, next, after].concat()
}

/// Returns whether the next line is not blank.
fn starts_with_text(after: &str) -> bool {
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

    fn entry(progress: &str) -> WorkLogEntry {
        let at = Timestamp::parse("2026-02-09T21:05:00.000Z").expect("a good time");
        WorkLogEntry { at, progress: Some(progress.into()), notes: None, blockers: vec![] }
    }

    fn check(body: &str, expected: &str) {
        assert_eq!(entry("P").append_to(body), expected);
    }

    const LINE: &str = "- 2026-02-09T21:05:00.000Z Progress: P\n";

    #[test]
    fn work_log_entry_matches_protocol_format() {
        let full = WorkLogEntry {
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
    fn work_log_value_cannot_forge_another_entry() {
        let forged = entry("x\r\n- 2026-01-01T00:00:00Z Progress: y\u{2028}z\n## Work Log");
        assert_eq!(forged.line().lines().count(), 1);
        assert_eq!(
            forged.line(),
            "- 2026-02-09T21:05:00.000Z Progress: x - 2026-01-01T00:00:00Z Progress: y z ## Work Log"
        );
    }

    #[test]
    fn work_log_section_is_added_at_end_if_missing() {
        check("", &format!("## Work Log\n\n{LINE}"));
        check("Do it.\n", &format!("Do it.\n\n## Work Log\n\n{LINE}"));
        check("Do it.", &format!("Do it.\n\n## Work Log\n\n{LINE}"));
        check("Do it.\n\n", &format!("Do it.\n\n## Work Log\n\n{LINE}"));
    }

    #[test]
    fn work_log_entry_is_appended_to_existing_section() {
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
    fn work_log_keeps_windows_line_breaks() {
        let line = LINE.replace('\n', "\r\n");
        check("Do it.\r\n", &format!("Do it.\r\n\r\n## Work Log\r\n\r\n{line}"));
        check(
            "## Work Log\r\n\r\n- a\r\n\r\nEnd\r\n",
            &format!("## Work Log\r\n\r\n- a\r\n\r\nEnd\r\n\r\n{line}"),
        );
    }

    #[test]
    fn work_log_heading_in_code_block_is_text() {
        let body = "```\n## Work Log\n```\n";
        check(body, &format!("{body}\n## Work Log\n\n{LINE}"));
        let log = "## Work Log\n\n- a\n~~~\n## Not a heading\n~~~\n";
        check(log, &format!("{log}\n{LINE}"));
    }

    #[test]
    fn work_log_unclosed_code_block_keeps_text_after_it() {
        let body = "## Work Log\n\n- x\n~~~\n\n## Expected outputs\n\n- a/a\n";
        assert_eq!(strip_work_log(body), body);
    }

    #[test]
    fn work_log_unclosed_code_block_gets_one_section() {
        let body = "```\nopen\n";
        let once = entry("P").append_to(body);
        assert_eq!(once, format!("{body}\n## Work Log\n\n{LINE}"));
        assert_eq!(entry("P").append_to(&once), format!("{once}{LINE}"));
    }

    #[test]
    fn work_log_entries_stay_in_their_section() {
        let mut body = "Intro\n\n## Work Log\n\n## Later\n\ntext\n".to_owned();
        for _ in 0..3 {
            body = entry("P").append_to(&body);
        }
        assert_eq!(body, format!("Intro\n\n## Work Log\n\n{LINE}{LINE}{LINE}\n## Later\n\ntext\n"));
    }
}
