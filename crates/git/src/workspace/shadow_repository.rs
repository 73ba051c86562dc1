//! A separate git folder through which the work tree of a repository is compared.
//!
//! It uses the repository's objects and a copy of its index, but only those settings that affect
//! how files are written. So no filter, hook or monitor can be executed, whichever ones the agent
//! configures. The folder is stored with the run, so tracked, ignored and assume-unchanged files
//! are those from the start of the run.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::InspectionError;
use super::git::{GitCommand, GitConfigScope, split_nul};

/// The settings that affect how files are written and execute nothing.
const SETTINGS: &str = "^(core\\.(autocrlf|eol|filemode|symlinks|ignorecase|precomposeunicode|\
                        trustctime|checkstat)|extensions\\.objectformat)$";

/// The folders of a repository.
pub struct RepositoryFolders<'a> {
    pub top: &'a Path,
    pub git_dir: &'a Path,
    /// The git folder that all work trees of the repository share.
    pub common_dir: &'a Path,
}

/// A separate git folder for comparing.
pub(super) struct ShadowRepository<'a> {
    dir: &'a Path,
    places: RepositoryFolders<'a>,
}

/// A shadow with a temporary index that may be changed.
pub(super) struct ShadowIndex<'a> {
    shadow: &'a ShadowRepository<'a>,
    /// The folder of the index, deleted on drop.
    index: tempfile::TempDir,
}

impl<'a> ShadowRepository<'a> {
    /// Opens an existing shadow.
    pub(super) fn existing(dir: &'a Path, places: RepositoryFolders<'a>) -> Self {
        Self { dir, places }
    }

    pub(super) fn create(
        dir: &'a Path,
        places: RepositoryFolders<'a>,
    ) -> Result<Self, InspectionError> {
        let config = safe_config(places.top)?;
        let ignored = outside_ignore_rules(&places)?;
        let shadow = Self { dir, places };
        let made = shadow.write(&config, &ignored);
        made.map_err(|error| InspectionError(format!("cannot record the index: {error}")))?;
        Ok(shadow)
    }

    fn write(&self, config: &str, ignored: &[u8]) -> io::Result<()> {
        if self.dir.exists() {
            fs::remove_dir_all(self.dir)?;
        }
        for folder in ["refs", "objects", "info"] {
            fs::create_dir_all(self.dir.join(folder))?;
        }
        fs::write(self.dir.join("HEAD"), "ref: refs/heads/none\n")?;
        fs::write(self.dir.join("config"), config)?;
        fs::write(self.dir.join("info/exclude"), ignored)?;
        copy_index(self.places.git_dir, self.dir)
    }

    /// Copies the index and refreshes the copy from the work tree.
    pub(super) fn open_index(&self) -> Result<ShadowIndex<'_>, InspectionError> {
        let copied = tempfile::tempdir().and_then(|index| {
            copy_index(self.dir, index.path())?;
            Ok(index)
        });
        let index =
            copied.map_err(|error| InspectionError(format!("cannot copy the index: {error}")))?;
        let opened = ShadowIndex { shadow: self, index };
        let refresh = ["update-index", "-q", "--unmerged", "--ignore-missing", "--really-refresh"];
        // The exit code is 1 if any file changed.
        let refreshed = opened.call(&refresh).run()?;
        if refreshed.code.is_some_and(|code| code < 128) {
            return Ok(opened);
        }
        Err(refreshed.to_error())
    }

    /// Makes a call on the repository's objects.
    pub(super) fn call(&self, arguments: &[&str]) -> GitCommand {
        GitCommand::new(self.places.top, GitConfigScope::Isolated, arguments)
            .with_env("GIT_DIR", self.dir)
            .with_env("GIT_WORK_TREE", self.places.top)
            .with_env("GIT_OBJECT_DIRECTORY", self.places.common_dir.join("objects"))
    }
}

impl ShadowIndex<'_> {
    /// Makes a call on the work tree.
    pub(super) fn call(&self, arguments: &[&str]) -> GitCommand {
        self.shadow.call(arguments).with_env("GIT_INDEX_FILE", self.index.path().join("index"))
    }
}

/// Copies an index with its modification time, by which git detects entries that it cannot trust.
pub fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        let is_index = name == "index" || name.as_encoded_bytes().starts_with(b"sharedindex.");
        if is_index {
            copy_with_time(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = fs::File::open(from)?;
    let mut copy = fs::File::create(to)?;
    let written = source.metadata()?.modified()?;
    io::copy(&mut source, &mut copy)?;
    copy.set_modified(written)
}

/// Returns a configuration with only the settings that affect how files are written.
pub fn safe_config(top: &Path) -> Result<String, InspectionError> {
    let get = ["config", "-z", "--get-regexp", SETTINGS];
    let answer = GitCommand::new(top, GitConfigScope::WithUser, &get).run()?;
    // The exit code is 1 if none of the settings exists.
    if !matches!(answer.code, Some(0 | 1)) {
        return Err(answer.to_error());
    }
    let mut config = String::from("[core]\n\trepositoryformatversion = 1\n\tbare = false\n");
    for item in split_nul(&answer.output) {
        let item = String::from_utf8_lossy(item);
        let (key, value) = item.split_once('\n').unwrap_or((&item, "true"));
        let Some((section, name)) = key.split_once('.') else { continue };
        if value.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            let _ = write!(config, "[{section}]\n\t{name} = {value}\n");
        }
    }
    Ok(config)
}

/// Returns the ignore rules from outside the work tree: the user's, then the repository's.
pub fn outside_ignore_rules(places: &RepositoryFolders<'_>) -> Result<Vec<u8>, InspectionError> {
    let get = ["config", "-z", "--type=path", "--get", "core.excludesFile"];
    let named = GitCommand::new(places.top, GitConfigScope::WithUser, &get).run()?;
    let named = split_nul(&named.output).next().map(super::byte_path::BytePath::new);
    let of_user = match named {
        Some(name) => Some(places.top.join(name.as_path())),
        None => default_excludes(),
    };
    let mut ignored = of_user.and_then(|path| fs::read(path).ok()).unwrap_or_default();
    ignored.push(b'\n');
    ignored.extend(fs::read(places.common_dir.join("info/exclude")).unwrap_or_default());
    Ok(ignored)
}

/// Returns the default path of the user's ignore file.
fn default_excludes() -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"));
    Some(folder.map(PathBuf::from).or_else(home)?.join("git/ignore"))
}
