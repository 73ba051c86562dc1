//! Golden files: texts checked in under `golden/` that the code must produce byte for byte.
//!
//! A test fills a [`GoldenFolder`] through the real code path and calls [`GoldenFolder::check`]. A
//! changed, missing or left-over file fails the test with a diff. `cargo xtask golden` renews the
//! files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use similar::TextDiff;

/// The environment variable that makes [`GoldenFolder::check`] write the files instead.
pub const RENEW_VARIABLE: &str = "ADJUTANT_GOLDEN_RENEW";

/// The limit on printed diff lines per file.
const DIFF_LINES_MAX: usize = 120;

/// One folder below `golden/` and the texts a test produced for it.
///
/// A folder belongs to one test: any file in it that the test did not produce is an error, so that
/// nothing stale stays behind.
#[derive(Debug)]
pub struct GoldenFolder {
    name: String,
    root: PathBuf,
    produced: BTreeMap<String, String>,
}

impl GoldenFolder {
    pub fn new(name: &str) -> Self {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden");
        Self::at(&golden, name)
    }

    fn at(golden: &Path, name: &str) -> Self {
        Self { name: name.to_owned(), root: golden.join(name), produced: BTreeMap::new() }
    }

    /// Adds a text. `file` may contain folders: `claude/first-attempt.md`.
    ///
    /// # Panics
    ///
    /// Panics if the file was added before: one of the two texts would not be compared.
    pub fn add(&mut self, file: impl Into<String>, text: impl Into<String>) {
        let file = file.into();
        let earlier = self.produced.insert(file.clone(), text.into());
        assert!(earlier.is_none(), "golden file {file} was produced twice");
    }

    /// Compares the folder with the added texts, or writes it if [`RENEW_VARIABLE`] is set.
    ///
    /// # Panics
    ///
    /// Panics with a diff if anything differs.
    pub fn check(self) {
        if env::var_os(RENEW_VARIABLE).is_some() {
            self.renew().unwrap_or_else(|error| panic!("{}: {error}", self.root.display()));
        } else if let Some(differences) = self.differences() {
            panic!(
                "{differences}\nIf this change is intended, `cargo xtask golden` renews the files. \
                 A stored or sent format that changes also needs a new format number: see \
                 docs/files.md.\n"
            );
        }
    }

    fn differences(&self) -> Option<String> {
        let mut differences = String::new();
        let stored = stored_files(&self.root);
        for file in stored.difference(&self.produced.keys().cloned().collect()) {
            let _ = writeln!(
                differences,
                "{}: checked in, but no longer produced",
                self.display_path(file)
            );
        }
        for (file, text) in &self.produced {
            match fs::read(self.root.join(file)) {
                Ok(stored) if stored == text.as_bytes() => {}
                Ok(stored) => differences.push_str(&self.diff(file, &stored, text)),
                Err(_) => {
                    let _ = writeln!(
                        differences,
                        "{}: produced, but not checked in",
                        self.display_path(file)
                    );
                }
            }
        }
        (!differences.is_empty()).then_some(differences)
    }

    fn diff(&self, file: &str, stored: &[u8], text: &str) -> String {
        let stored = String::from_utf8_lossy(stored);
        let diff = TextDiff::from_lines(stored.as_ref(), text);
        let name = self.display_path(file);
        let headers = (format!("{name} (checked in)"), format!("{name} (produced now)"));
        let unified = diff.unified_diff().header(&headers.0, &headers.1).to_string();
        let lines = unified.lines().count();
        let mut shown: String =
            unified.lines().take(DIFF_LINES_MAX).flat_map(|line| [line, "\n"]).collect();
        if lines > DIFF_LINES_MAX {
            let _ = writeln!(shown, "… {} more lines differ", lines - DIFF_LINES_MAX);
        }
        shown
    }

    fn display_path(&self, file: &str) -> String {
        format!("golden/{}/{file}", self.name)
    }

    fn renew(&self) -> io::Result<()> {
        for file in stored_files(&self.root) {
            if !self.produced.contains_key(&file) {
                fs::remove_file(self.root.join(file))?;
            }
        }
        for (file, text) in &self.produced {
            let path = self.root.join(file);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, text)?;
        }
        Ok(())
    }
}

/// Returns the files below a folder, relative to it.
fn stored_files(root: &Path) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(name) = path.strip_prefix(root) {
                files.insert(name.to_string_lossy().into_owned());
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(root: &Path, texts: &[(&str, &str)]) -> GoldenFolder {
        let mut folder = GoldenFolder::at(root, "events");
        for (file, text) in texts {
            folder.add(*file, *text);
        }
        folder
    }

    #[test]
    fn golden_folder_reports_every_kind_of_difference() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let stored = folder(root.path(), &[("a", "1\n2\n3\n"), ("b/c", "same\n"), ("old", "")]);
        assert_eq!(
            stored.differences().as_deref(),
            Some(
                "golden/events/a: produced, but not checked in\n\
                 golden/events/b/c: produced, but not checked in\n\
                 golden/events/old: produced, but not checked in\n"
            )
        );
        stored.renew().expect("the files are written");
        assert_eq!(stored.differences(), None);

        let changed = folder(root.path(), &[("a", "1\n2\n4\n"), ("b/c", "same\n"), ("new", "")]);
        assert_eq!(
            changed.differences().as_deref(),
            Some(
                "golden/events/old: checked in, but no longer produced\n\
                 --- golden/events/a (checked in)\n\
                 +++ golden/events/a (produced now)\n\
                 @@ -1,3 +1,3 @@\n 1\n 2\n-3\n+4\n\
                 golden/events/new: produced, but not checked in\n"
            )
        );
        changed.renew().expect("the files are written");
        assert_eq!(changed.differences(), None);
    }

    #[test]
    fn golden_folder_sees_a_missing_line_break() {
        let root = tempfile::tempdir().expect("a temporary folder");
        folder(root.path(), &[("a", "1\n")]).renew().expect("the file is written");
        assert!(folder(root.path(), &[("a", "1")]).differences().is_some());
    }

    #[test]
    #[should_panic(expected = "was produced twice")]
    fn golden_file_cannot_be_produced_twice() {
        folder(Path::new("/"), &[("a", "1"), ("a", "2")]);
    }
}
