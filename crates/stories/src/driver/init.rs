//! Creates the files of a project with stories, and the hooks that report the end of an executor.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use adjutant_core::story::StoryState;
use adjutant_model::story::Step;
use serde_json::{Value, json};

use crate::files::{StateFile, StateSlot, StoryFolder, StoryFolderError, rules};

/// The hook that Claude Code runs after every turn, and git after a commit: the executor may still
/// be at work.
pub const HOOK_COMMAND: &str = "adjutant story hook --if-handed-over";

/// The hook of older versions, which evaluated a step before there was a hand-over.
const OLD_CLAUDE_COMMAND: &str = "adjutant story hook";

/// The skeleton's files and their content.
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

/// The files that were created or already existed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkeletonFiles {
    /// The files that were created or added to, relative to the project's root.
    pub made: Vec<String>,
    /// The existing files, which were not changed.
    pub kept: Vec<String>,
}

/// Why the skeleton or a hook cannot be installed.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error(transparent)]
    Folder(#[from] StoryFolderError),
    /// Claude Code's settings file has an unexpected form.
    #[error("{} {what}; nothing in it was changed", .path.display())]
    Settings { path: PathBuf, what: String },
    /// The project is not in git, or has a hook that cannot be extended.
    #[error("{} {what}", .path.display())]
    Git { path: PathBuf, what: String },
}

impl SkeletonFiles {
    fn record(&mut self, name: &str, made: bool) {
        if made { self.made.push(name.to_owned()) } else { self.kept.push(name.to_owned()) }
    }
}

/// Creates the missing files of the skeleton. Existing files are not changed.
pub fn skeleton(root: &Path) -> Result<SkeletonFiles, InitError> {
    let folder = StoryFolder::at(root);
    let mut made = SkeletonFiles::default();
    for (name, text) in FILES {
        made.record(name, folder.create_file(name, text)?);
    }
    let lock = folder.lock()?;
    let there = folder.state_path(&StateSlot::Main).exists();
    if !there {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let name = root.file_name().map_or("project".into(), |name| name.to_string_lossy());
        let state = StoryState::new(&name, None, Step::Bootstrap);
        let text = StateFile::new(state.clone()).to_text(&state, &rules::defaults());
        folder.put_state(&lock, &StateSlot::Main, &text)?;
    }
    made.record(".ai/STATE.json", !there);
    Ok(made)
}

/// Adds the hook to the project's Claude Code settings, and changes nothing else there.
pub fn install_in_claude(root: &Path, made: &mut SkeletonFiles) -> Result<(), InitError> {
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
    let stop = stop_hooks(&mut settings)
        .ok_or_else(|| wrong("has `hooks` in an unknown format".into()))?;
    let is_old = replace_old_hooks(stop);
    if !is_old && stop.iter().any(is_ours) {
        made.record(NAME, false);
        return Ok(());
    }
    if !is_old {
        stop.push(json!({"hooks": [{"type": "command", "command": HOOK_COMMAND}]}));
    }
    let folder = StoryFolder::at(root);
    let mut text = serde_json::to_string_pretty(&settings).unwrap_or_default();
    text.push('\n');
    folder.replace(&folder.lock()?, NAME, &text)?;
    made.record(NAME, true);
    Ok(())
}

fn stop_hooks(settings: &mut Value) -> Option<&mut Vec<Value>> {
    let hooks = settings.as_object_mut()?.entry("hooks").or_insert_with(|| json!({}));
    let stop = hooks.as_object_mut()?.entry("Stop").or_insert_with(|| json!([]));
    stop.as_array_mut()
}

fn is_ours(group: &Value) -> bool {
    let commands = group["hooks"].as_array().into_iter().flatten();
    commands
        .into_iter()
        .any(|hook| hook["command"].as_str().is_some_and(|command| command.contains(HOOK_COMMAND)))
}

/// Replaces the hook of older versions. Returns whether there was one.
fn replace_old_hooks(groups: &mut [Value]) -> bool {
    let lists = groups.iter_mut().filter_map(|group| group.get_mut("hooks")?.as_array_mut());
    let commands = lists.flatten().filter_map(|hook| hook.get_mut("command"));
    let mut has_replaced = false;
    for command in commands.filter(|command| **command == json!(OLD_CLAUDE_COMMAND)) {
        *command = json!(HOOK_COMMAND);
        has_replaced = true;
    }
    has_replaced
}

/// Adds the hook to git's `post-commit` hook, after its present content. A hook that is not a shell
/// script is refused.
pub fn install_in_git(root: &Path, made: &mut SkeletonFiles) -> Result<(), InitError> {
    const NAME: &str = "post-commit";
    let wrong =
        |path: &Path, what: &str| InitError::Git { path: path.to_owned(), what: what.into() };
    let mut git = std::process::Command::new("git");
    git.arg("-C").arg(root).args(["rev-parse", "--git-path", "hooks"]);
    let output = git.output().ok().filter(|output| output.status.success());
    let output = output.ok_or_else(|| wrong(root, "is not a git repository"))?;
    let hooks = root.join(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n'));
    let path = hooks.join(NAME);
    let before = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "#!/bin/sh\n".to_owned(),
        Err(_) => return Err(wrong(&path, "cannot be read")),
    };
    let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
    if before.contains(HOOK_COMMAND) {
        made.record(&name, false);
        return Ok(());
    }
    let shell =
        before.lines().next().is_some_and(|line| line.starts_with("#!") && line.ends_with("sh"));
    if !shell {
        return Err(wrong(&path, "is not a shell script; add the hook to it by hand"));
    }
    let gap = if before.ends_with('\n') { "" } else { "\n" };
    let text = format!("{before}{gap}{HOOK_COMMAND} >/dev/null 2>&1 || true\n");
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(&hooks)?;
        std::fs::write(&path, text)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
    };
    write().map_err(|error| wrong(&path, &format!("cannot be written: {error}")))?;
    made.record(&name, true);
    Ok(())
}
