//! The skeleton of a project with stories, and the hooks that tell Adjutant when an executor ended.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use adjutant_core::pipeline::{State, Step};
use adjutant_store::story::{Folder, FolderError, Slot, StateFile, rules};
use serde_json::{Value, json};

/// What Claude Code runs when an executor stops.
pub const CLAUDE_COMMAND: &str = "adjutant story hook";

/// What git runs after a commit, which is not yet the end of an executor.
pub const GIT_COMMAND: &str = "adjutant story hook --if-handed-over";

/// The files of the skeleton, and what is in them.
const FILES: [(&str, &str); 10] = [
    ("PROJECT_CONTEXT.md", include_str!("skeleton/PROJECT_CONTEXT.md")),
    ("PROJECT_MEMORY.md", include_str!("skeleton/PROJECT_MEMORY.md")),
    ("docs/sdd.md", include_str!("skeleton/sdd.md")),
    ("docs/constitution.md", include_str!("skeleton/constitution.md")),
    ("docs/nfr.md", include_str!("skeleton/nfr.md")),
    ("docs/bdd/.gitkeep", ""),
    ("docs/deltas/.gitkeep", ""),
    ("docs/api/.gitkeep", ""),
    ("docs/ddd/.gitkeep", ""),
    (".ai/.gitignore", "*.lock\n.lock\n.adjutant-new-*\n"),
];

/// What was made, and what was there already.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Made {
    /// The files that were made or added to, from the root of the project.
    pub made: Vec<String>,
    /// The files that were there and are as they were.
    pub kept: Vec<String>,
}

/// Why a hook cannot be installed.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The settings of Claude Code are not what they should be.
    #[error("{} {what}; nothing in it was changed", .path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The project is not in git, or has a hook of its own that cannot be added to.
    #[error("{} {what}", .path.display())]
    Git {
        /// What was looked at.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

impl Made {
    fn note(&mut self, name: &str, made: bool) {
        if made { self.made.push(name.to_owned()) } else { self.kept.push(name.to_owned()) }
    }
}

/// Makes what is missing of the skeleton. What is there stays as it is.
pub fn skeleton(root: &Path) -> Result<Made, InitError> {
    let folder = Folder::at(root);
    let mut made = Made::default();
    for (name, text) in FILES {
        made.note(name, folder.make(name, text)?);
    }
    let lock = folder.lock()?;
    let there = folder.state_path(&Slot::Main).exists();
    if !there {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let name = root.file_name().map_or("project".into(), |name| name.to_string_lossy());
        let state = State::begin(&name, None, Step::Bootstrap);
        let text = StateFile::new(state.clone()).text(&state, &rules::defaults());
        folder.put_state(&lock, &Slot::Main, &text)?;
    }
    made.note(".ai/STATE.json", !there);
    Ok(made)
}

/// Adds the hook to the project's settings of Claude Code, and leaves everything else as it is.
pub fn install_in_claude(root: &Path, made: &mut Made) -> Result<(), InitError> {
    const NAME: &str = ".claude/settings.json";
    let path = root.join(NAME);
    let wrong = |what: String| InitError::Settings { path: path.clone(), what };
    let mut settings = match std::fs::read_to_string(&path) {
        Ok(text) => {
            serde_json::from_str(&text).map_err(|error| wrong(format!("is not JSON: {error}")))?
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => json!({}),
        Err(error) => return Err(wrong(format!("cannot be read: {error}"))),
    };
    let stop =
        stop_hooks(&mut settings).ok_or_else(|| wrong("has hooks in another form".into()))?;
    if stop.iter().any(is_ours) {
        made.note(NAME, false);
        return Ok(());
    }
    stop.push(json!({"hooks": [{"type": "command", "command": CLAUDE_COMMAND}]}));
    let folder = Folder::at(root);
    let mut text = serde_json::to_string_pretty(&settings).unwrap_or_default();
    text.push('\n');
    folder.replace(&folder.lock()?, NAME, &text)?;
    made.note(NAME, true);
    Ok(())
}

fn stop_hooks(settings: &mut Value) -> Option<&mut Vec<Value>> {
    let hooks = settings.as_object_mut()?.entry("hooks").or_insert_with(|| json!({}));
    let stop = hooks.as_object_mut()?.entry("Stop").or_insert_with(|| json!([]));
    stop.as_array_mut()
}

fn is_ours(group: &Value) -> bool {
    let commands = group["hooks"].as_array().into_iter().flatten();
    commands.into_iter().any(|hook| {
        hook["command"].as_str().is_some_and(|command| command.contains(CLAUDE_COMMAND))
    })
}

/// Adds the hook to git's, after what is there. One that is no shell script is left alone.
pub fn install_in_git(root: &Path, made: &mut Made) -> Result<(), InitError> {
    const NAME: &str = "post-commit";
    let wrong =
        |path: &Path, what: &str| InitError::Git { path: path.to_owned(), what: what.into() };
    let mut git = std::process::Command::new("git");
    git.arg("-C").arg(root).args(["rev-parse", "--git-path", "hooks"]);
    let output = git.output().ok().filter(|output| output.status.success());
    let output = output.ok_or_else(|| wrong(root, "is no git repository"))?;
    let hooks = root.join(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n'));
    let path = hooks.join(NAME);
    let before = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "#!/bin/sh\n".to_owned(),
        Err(_) => return Err(wrong(&path, "cannot be read")),
    };
    let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
    if before.contains(GIT_COMMAND) {
        made.note(&name, false);
        return Ok(());
    }
    let shell =
        before.lines().next().is_some_and(|line| line.starts_with("#!") && line.ends_with("sh"));
    if !shell {
        return Err(wrong(&path, "is no shell script; add the hook to it by hand"));
    }
    let gap = if before.ends_with('\n') { "" } else { "\n" };
    let text = format!("{before}{gap}{GIT_COMMAND} >/dev/null 2>&1 || true\n");
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(&hooks)?;
        std::fs::write(&path, text)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
    };
    write().map_err(|error| wrong(&path, &format!("cannot be written: {error}")))?;
    made.note(&name, true);
    Ok(())
}
