//! The files of a project that say what Adjutant runs, and where its stories are. A branch that changes one is merged only with
//! a person's explicit consent.

/// The folders of Adjutant and of stories, at any depth: a project may be nested.
///
/// A story has no branch: its steps work where its files are. So a branch that changes a file of a
/// story moves that story, whichever file it is.
const PROTECTED_FOLDERS: [&str; 2] = [".adjutant", ".ai"];

/// The most protected files that are named.
const FILES_MAX: usize = 50;

/// Returns whether a path of a repository is protected. Letters count in either case, because some
/// file systems do not tell them apart.
pub fn is_protected(path: &str) -> bool {
    let is_folder =
        |part: &str| PROTECTED_FOLDERS.iter().any(|name| part.eq_ignore_ascii_case(name));
    path.split('/').any(is_folder)
}

/// Returns the protected ones of the files that a branch changes. Of a great many, the first are
/// enough to decide.
pub fn protected_files<'a>(changed: impl Iterator<Item = &'a str>) -> Vec<String> {
    changed.filter(|path| is_protected(path)).take(FILES_MAX).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_paths_are_the_data_folder_and_the_folder_of_stories() {
        for path in [
            ".adjutant/adjutant.toml",
            ".adjutant/tasks/ready/TASK-2026-02-09-001.md",
            ".adjutant",
            "shop/.adjutant/adjutant.toml",
            ".Adjutant/adjutant.toml",
            ".ai",
            ".ai/step-rules.yaml",
            ".AI/step-rules.yaml",
            ".ai/prompts/impl.md",
            ".ai/handoffs/deep/x.md",
            "shop/.ai/step-rules.yaml",
            ".ai/STATE.json",
            ".ai/states/US-005.json",
            ".ai/HANDOFF.md",
            ".ai/handoffs/US-005.md",
            ".ai/executor-result",
            ".ai/history.md",
            "shop/.ai/states/US-005.json",
        ] {
            assert!(is_protected(path), "{path}");
        }
        for path in ["src/main.rs", "docs/.adjutant.md", "ai/step-rules.yaml", "docs/.ai.md"] {
            assert!(!is_protected(path), "{path}");
        }
    }
}
