//! The changes of a task by file, from its unified diff.

use serde::Serialize;

/// How many files are listed, and how many lines of all files together.
const FILES_MAX: usize = 500;
const LINES_MAX: usize = 20_000;
/// How long a shown line is.
const LINE_CHARS_MAX: usize = 2_000;

/// The changes that were made for a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeSet {
    pub files: Vec<ChangedFile>,
    pub added: usize,
    pub removed: usize,
    /// How many files are left out because there are too many.
    pub files_left_out: usize,
    /// Whether lines are left out because there are too many.
    pub is_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedFile {
    /// The path after the change; of a removed file, the path before.
    pub path: String,
    /// The path before, if the file was renamed or copied.
    pub old_path: Option<String>,
    pub status: ChangeStatus,
    pub is_binary: bool,
    pub added: usize,
    pub removed: usize,
    pub lines: Vec<ChangedLine>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub enum ChangeStatus {
    Added,
    Removed,
    Modified,
    Renamed,
}

/// A line of a file in the diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedLine {
    pub kind: LineKind,
    /// The number before the change, from 1.
    pub old: Option<usize>,
    /// The number after the change, from 1.
    pub new: Option<usize>,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub enum LineKind {
    /// The heading of a hunk.
    Hunk,
    Context,
    Added,
    Removed,
    /// A remark of git, such as a missing line break at the end of the file.
    Note,
}

impl ChangeStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
        }
    }
}

impl ChangeSet {
    /// Parses the output of `git diff`. The counts include what is left out.
    pub fn parse(diff: &str) -> Self {
        let mut parser = DiffParser::default();
        for line in diff.lines() {
            parser.read(line);
        }
        parser.finish_file();
        parser.changes
    }
}

#[derive(Default)]
struct DiffParser {
    changes: ChangeSet,
    file: Option<ChangedFile>,
    /// The numbers of the next lines before and after the change.
    next: (usize, usize),
    /// How many lines of the hunk are left, before and after the change. Only they decide whether a
    /// line belongs to the hunk: a removed line may look like the head of a file.
    left: (usize, usize),
    lines: usize,
}

impl DiffParser {
    fn read(&mut self, line: &str) {
        if self.left != (0, 0) {
            return self.read_hunk_line(line);
        }
        if line.starts_with("diff --git ") {
            self.finish_file();
            self.file = Some(new_file(line));
        } else if line.starts_with("@@ ") {
            self.begin_hunk(line);
        } else if line.starts_with('\\') {
            self.push(LineKind::Note, None, None, line);
        } else if let Some(file) = &mut self.file {
            read_head(file, line);
        }
    }

    fn begin_hunk(&mut self, line: &str) {
        let mut ranges = line.split(' ').skip(1).map(parse_range);
        let old = ranges.next().flatten();
        let new = ranges.next().flatten();
        let (Some((old, old_count)), Some((new, new_count))) = (old, new) else { return };
        (self.next, self.left) = ((old, new), (old_count, new_count));
        self.push(LineKind::Hunk, None, None, line);
    }

    fn read_hunk_line(&mut self, line: &str) {
        let text = line.get(1..).unwrap_or_default();
        match line.as_bytes().first() {
            Some(b'+') => {
                self.push(LineKind::Added, None, Some(self.next.1), text);
                self.advance(0, 1);
            }
            Some(b'-') => {
                self.push(LineKind::Removed, Some(self.next.0), None, text);
                self.advance(1, 0);
            }
            Some(b'\\') => self.push(LineKind::Note, None, None, line),
            _ => {
                self.push(LineKind::Context, Some(self.next.0), Some(self.next.1), text);
                self.advance(1, 1);
            }
        }
    }

    fn advance(&mut self, old: usize, new: usize) {
        self.next = (self.next.0 + old, self.next.1 + new);
        self.left = (self.left.0.saturating_sub(old), self.left.1.saturating_sub(new));
    }

    fn push(&mut self, kind: LineKind, old: Option<usize>, new: Option<usize>, text: &str) {
        let Some(file) = &mut self.file else { return };
        file.added += usize::from(kind == LineKind::Added);
        file.removed += usize::from(kind == LineKind::Removed);
        self.lines += 1;
        if self.lines > LINES_MAX {
            self.changes.is_cut = true;
            return;
        }
        let end = text.char_indices().nth(LINE_CHARS_MAX).map_or(text.len(), |(at, _)| at);
        self.changes.is_cut |= end < text.len();
        file.lines.push(ChangedLine { kind, old, new, text: text[..end].to_owned() });
    }

    fn finish_file(&mut self) {
        self.left = (0, 0);
        let Some(file) = self.file.take() else { return };
        self.changes.added += file.added;
        self.changes.removed += file.removed;
        if self.changes.files.len() < FILES_MAX {
            self.changes.files.push(file);
        } else {
            self.changes.files_left_out += 1;
        }
    }
}

/// Begins a file with the path of its first line, which is the only one of an empty or binary file.
fn new_file(line: &str) -> ChangedFile {
    let paths = line.trim_start_matches("diff --git ");
    // Both paths are the same unless the file is renamed, which later lines say.
    let path = paths.rsplit_once(" b/").map_or(paths, |(_, path)| path);
    ChangedFile {
        path: path.trim_end_matches('"').to_owned(),
        old_path: None,
        status: ChangeStatus::Modified,
        is_binary: false,
        added: 0,
        removed: 0,
        lines: vec![],
    }
}

fn read_head(file: &mut ChangedFile, line: &str) {
    if line.starts_with("new file mode") {
        file.status = ChangeStatus::Added;
    } else if line.starts_with("deleted file mode") {
        file.status = ChangeStatus::Removed;
    } else if let Some(old) = line.strip_prefix("rename from ") {
        (file.status, file.old_path) = (ChangeStatus::Renamed, Some(old.to_owned()));
    } else if let Some(new) = line.strip_prefix("rename to ") {
        new.clone_into(&mut file.path);
    } else if line.starts_with("Binary files ") || line == "GIT binary patch" {
        file.is_binary = true;
    } else if let Some(path) = line.strip_prefix("+++ b/") {
        // Git ends a path that has spaces with a tab.
        path.trim_end_matches('\t').clone_into(&mut file.path);
    }
}

/// Parses `-12,3` or `+12` into the first line and the number of lines.
fn parse_range(text: &str) -> Option<(usize, usize)> {
    let text = text.strip_prefix(['-', '+'])?;
    let (first, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((first.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "\
diff --git a/a.txt b/a.txt
index 1..2 100644
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@ fn main()
 one
--- not a head
+two
 three
\\ No newline at end of file
diff --git a/new b/new
new file mode 100644
--- /dev/null
+++ b/new
@@ -0,0 +1 @@
+hello
diff --git a/old name b/new name
similarity index 100%
rename from old name
rename to new name
diff --git a/x.png b/x.png
deleted file mode 100644
Binary files a/x.png and /dev/null differ
";

    fn line(kind: LineKind, old: Option<usize>, new: Option<usize>, text: &str) -> ChangedLine {
        ChangedLine { kind, old, new, text: text.to_owned() }
    }

    #[test]
    fn diff_is_parsed_by_file_with_line_numbers() {
        let changes = ChangeSet::parse(DIFF);
        let files: Vec<_> = changes
            .files
            .iter()
            .map(|file| (&*file.path, file.status, file.added, file.removed, file.is_binary))
            .collect();
        let expected = [
            ("a.txt", ChangeStatus::Modified, 1, 1, false),
            ("new", ChangeStatus::Added, 1, 0, false),
            ("new name", ChangeStatus::Renamed, 0, 0, false),
            ("x.png", ChangeStatus::Removed, 0, 0, true),
        ];
        assert_eq!(files, expected);
        assert_eq!(changes.files[2].old_path.as_deref(), Some("old name"));
        assert_eq!((changes.added, changes.removed), (2, 1));
        let expected = [
            line(LineKind::Hunk, None, None, "@@ -1,3 +1,3 @@ fn main()"),
            line(LineKind::Context, Some(1), Some(1), "one"),
            line(LineKind::Removed, Some(2), None, "-- not a head"),
            line(LineKind::Added, None, Some(2), "two"),
            line(LineKind::Context, Some(3), Some(3), "three"),
            line(LineKind::Note, None, None, "\\ No newline at end of file"),
        ];
        assert_eq!(changes.files[0].lines, expected);
    }

    #[test]
    fn huge_diff_is_bounded_and_counted_in_full() {
        let file = |n: usize| {
            let lines = "+x\n".repeat(100);
            format!("diff --git a/{n} b/{n}\nnew file mode 100644\n@@ -0,0 +1,100 @@\n{lines}")
        };
        let changes = ChangeSet::parse(&(0..600).map(file).collect::<String>());
        assert_eq!((changes.files.len(), changes.files_left_out), (FILES_MAX, 100));
        assert_eq!((changes.added, changes.is_cut), (60_000, true));
        let shown: usize = changes.files.iter().map(|file| file.lines.len()).sum();
        assert_eq!(shown, LINES_MAX);
    }
}
