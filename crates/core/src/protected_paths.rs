//! The files of a project that say what Adjutant runs. A branch that changes one is merged only with
//! a person's explicit consent.

/// The names of a data folder and of the folder of stories, at any depth: a project may be nested.
const DATA_FOLDER: &str = ".adjutant";
const STORY_FOLDER: &str = ".ai";

/// What the steps of a story write into its folder. The rest of it are rules: step rules, prompts
/// and every other file there.
const STORY_FILES: [&str; 4] = ["STATE.json", "HANDOFF.md", "executor-result", "history.md"];
const STORY_FOLDERS: [&str; 2] = ["states", "handoffs"];

/// The most protected files that are named.
const FILES_MAX: usize = 50;

/// Returns whether a path of a repository is protected. Letters count in either case, because some
/// file systems do not tell them apart.
pub fn is_protected(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    if parts.iter().any(|part| part.eq_ignore_ascii_case(DATA_FOLDER)) {
        return true;
    }
    let at = parts.iter().position(|part| part.eq_ignore_ascii_case(STORY_FOLDER));
    match at.map(|at| &parts[at + 1..]) {
        None => false,
        Some([file]) => !STORY_FILES.contains(file),
        Some([folder, _]) => !STORY_FOLDERS.contains(folder),
        Some(_) => true,
    }
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
    fn protected_paths_are_the_data_folder_and_the_rules_of_stories() {
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
            ".ai/state.json",
        ] {
            assert!(is_protected(path), "{path}");
        }
        for path in [
            "src/main.rs",
            "docs/.adjutant.md",
            ".ai/STATE.json",
            ".ai/states/US-005.json",
            ".ai/HANDOFF.md",
            ".ai/handoffs/US-005.md",
            ".ai/executor-result",
            ".ai/history.md",
            "ai/step-rules.yaml",
        ] {
            assert!(!is_protected(path), "{path}");
        }
    }
}
