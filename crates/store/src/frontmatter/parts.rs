//! Splits a task file at its `---` fences and joins it again. It does not read the YAML.

/// The byte order mark that some editors put first.
const BOM: char = '\u{feff}';

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    #[error("the first line is not `---`")]
    NoOpening,
    #[error("no `---` line closes the front matter")]
    NoClosing,
}

/// The parts of a task file; `bom + open + yaml + close + body` is the whole text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrontMatterParts<'a> {
    bom: &'a str,
    open: &'a str,
    yaml: &'a str,
    close: &'a str,
    body: &'a str,
}

impl<'a> FrontMatterParts<'a> {
    /// Finds the two `---` lines; spaces and tabs may follow the dashes.
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

    /// Returns the text between the fences.
    pub fn yaml(&self) -> &'a str {
        self.yaml
    }

    /// Returns the text after the line of the closing fence.
    pub fn body(&self) -> &'a str {
        self.body
    }

    /// Returns the line end of the opening fence, which is used for the whole file.
    pub fn eol(&self) -> &'static str {
        if self.open.ends_with("\r\n") { "\r\n" } else { "\n" }
    }

    /// Returns the whole text with another front matter and body.
    ///
    /// Adds a line break where a fence would otherwise share its line.
    pub fn join(&self, yaml: &str, body: &str) -> String {
        let open_line = !yaml.is_empty() && !yaml.ends_with('\n');
        let open_fence = !body.is_empty() && !self.close.ends_with('\n');
        let break_before = if open_line { self.eol() } else { "" };
        let break_after = if open_fence { self.eol() } else { "" };
        [self.bom, self.open, yaml, break_before, self.close, break_after, body].concat()
    }
}

/// Returns whether a line, given with its line break, is `---`.
fn is_fence(line: &str) -> bool {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    line.trim_end_matches([' ', '\t']) == "---"
}
