//! Takes a task file's text apart at its fences and puts it together again; YAML it leaves unread.

/// The character some editors put before everything else.
const BOM: char = '\u{feff}';

/// Why a text has no front matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// The first line is not `---`.
    #[error("the first line is not `---`")]
    NoOpening,
    /// No later line is `---`.
    #[error("no `---` line closes the front matter")]
    NoClosing,
}

/// A task file's text taken apart: `bom + open + yaml + close + body` is the text again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts<'a> {
    bom: &'a str,
    open: &'a str,
    yaml: &'a str,
    close: &'a str,
    body: &'a str,
}

impl<'a> Parts<'a> {
    /// Finds the two `---` lines; blanks may follow the dashes.
    pub fn split(text: &'a str) -> Result<Self, SplitError> {
        let (bom, rest) = text.split_at(if text.starts_with(BOM) { BOM.len_utf8() } else { 0 });
        let open = rest.split_inclusive('\n').next().filter(|line| is_fence(line));
        let open = open.ok_or(SplitError::NoOpening)?;
        let inner = &rest[open.len()..];
        let mut at = 0;
        for close in inner.split_inclusive('\n') {
            if is_fence(close) {
                let body = &inner[at + close.len()..];
                return Ok(Self { bom, open, yaml: &inner[..at], close, body });
            }
            at += close.len();
        }
        Err(SplitError::NoClosing)
    }

    /// Returns the text between the fences, without them.
    pub fn yaml(&self) -> &'a str {
        self.yaml
    }

    /// Returns everything after the closing fence's line break.
    pub fn body(&self) -> &'a str {
        self.body
    }

    /// Returns the line end the file uses: that of its opening fence.
    pub fn eol(&self) -> &'static str {
        if self.open.ends_with("\r\n") { "\r\n" } else { "\n" }
    }

    /// Returns the whole text with other front matter and body.
    ///
    /// A line break is added where a fence would otherwise share its line.
    pub fn join(&self, yaml: &str, body: &str) -> String {
        let open_line = !yaml.is_empty() && !yaml.ends_with('\n');
        let open_fence = !body.is_empty() && !self.close.ends_with('\n');
        let break_before = if open_line { self.eol() } else { "" };
        let break_after = if open_fence { self.eol() } else { "" };
        [self.bom, self.open, yaml, break_before, self.close, break_after, body].concat()
    }
}

/// Tells whether a line, given with its line break, is `---`.
fn is_fence(line: &str) -> bool {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    line.trim_end_matches([' ', '\t']) == "---"
}
