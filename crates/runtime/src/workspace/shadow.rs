//! A git folder of our own, through which the work tree of a repository is compared.
//!
//! It has the repository's objects and a copy of its index, and none of its configuration but a few
//! settings that say how files are written: so there is no filter, hook or monitor that could be
//! run, whatever the agent writes into the repository meanwhile. It is kept with the run: which
//! files are tracked, ignored or marked as unchanged is what it was when the run began.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Unseen;
use super::git::{Call, Settings, items};

/// The settings that say how files are written, and run nothing.
const SETTINGS: &str = "^(core\\.(autocrlf|eol|filemode|symlinks|ignorecase|precomposeunicode|\
                        trustctime|checkstat)|extensions\\.objectformat)$";

/// Where a repository keeps things.
pub(crate) struct Places<'a> {
    /// The folder of the work tree.
    pub(crate) top: &'a Path,
    /// The git folder of the work tree.
    pub(crate) git_dir: &'a Path,
    /// The git folder that all work trees of the repository share.
    pub(crate) common_dir: &'a Path,
}

/// A git folder of our own.
pub(super) struct Shadow<'a> {
    dir: &'a Path,
    places: Places<'a>,
}

/// A shadow with an index that it may change.
pub(super) struct Opened<'a> {
    shadow: &'a Shadow<'a>,
    /// Where the index lies; gone with this.
    index: tempfile::TempDir,
}

impl<'a> Shadow<'a> {
    /// Names one that was made.
    pub(super) fn at(dir: &'a Path, places: Places<'a>) -> Self {
        Self { dir, places }
    }

    /// Makes one.
    pub(super) fn make(dir: &'a Path, places: Places<'a>) -> Result<Self, Unseen> {
        let config = config(places.top)?;
        let ignored = ignored(&places)?;
        let shadow = Self { dir, places };
        let made = shadow.write(&config, &ignored);
        made.map_err(|error| Unseen(format!("cannot note the index: {error}")))?;
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

    /// Opens it with an index that is up to date with the work tree.
    pub(super) fn open(&self) -> Result<Opened<'_>, Unseen> {
        let copied = tempfile::tempdir().and_then(|index| {
            copy_index(self.dir, index.path())?;
            Ok(index)
        });
        let index = copied.map_err(|error| Unseen(format!("cannot copy the index: {error}")))?;
        let opened = Opened { shadow: self, index };
        let refresh = ["update-index", "-q", "--unmerged", "--ignore-missing", "--really-refresh"];
        // It says 1 if anything is changed.
        let refreshed = opened.call(&refresh).answer()?;
        if refreshed.code.is_some_and(|code| code < 128) {
            return Ok(opened);
        }
        Err(refreshed.failed())
    }

    /// Makes a call on the objects of the repository.
    pub(super) fn call(&self, arguments: &[&str]) -> Call {
        Call::new(self.places.top, Settings::OfNobody, arguments)
            .variable("GIT_DIR", self.dir)
            .variable("GIT_WORK_TREE", self.places.top)
            .variable("GIT_OBJECT_DIRECTORY", self.places.common_dir.join("objects"))
    }
}

impl Opened<'_> {
    /// Makes a call on the work tree.
    pub(super) fn call(&self, arguments: &[&str]) -> Call {
        self.shadow.call(arguments).variable("GIT_INDEX_FILE", self.index.path().join("index"))
    }
}

/// Copies an index with its time, by which git knows what it must not believe of it.
pub(crate) fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
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

/// Writes a configuration with what says how files are written.
pub(crate) fn config(top: &Path) -> Result<String, Unseen> {
    let get = ["config", "-z", "--get-regexp", SETTINGS];
    let answer = Call::new(top, Settings::OfUser, &get).answer()?;
    // It says 1 if there is none of them.
    if !matches!(answer.code, Some(0 | 1)) {
        return Err(answer.failed());
    }
    let mut config = String::from("[core]\n\trepositoryformatversion = 1\n\tbare = false\n");
    for item in items(&answer.output) {
        let item = String::from_utf8_lossy(item);
        let (key, value) = item.split_once('\n').unwrap_or((&item, "true"));
        let Some((section, name)) = key.split_once('.') else { continue };
        if value.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            let _ = write!(config, "[{section}]\n\t{name} = {value}\n");
        }
    }
    Ok(config)
}

/// Returns what is ignored besides what the work tree says: for the user, then for the repository.
pub(crate) fn ignored(places: &Places<'_>) -> Result<Vec<u8>, Unseen> {
    let get = ["config", "-z", "--type=path", "--get", "core.excludesFile"];
    let named = Call::new(places.top, Settings::OfUser, &get).answer()?;
    let named = items(&named.output).next().map(super::name::Name::new);
    let of_user = match named {
        Some(name) => Some(places.top.join(name.path())),
        None => default_excludes(),
    };
    let mut ignored = of_user.and_then(|path| fs::read(path).ok()).unwrap_or_default();
    ignored.push(b'\n');
    ignored.extend(fs::read(places.common_dir.join("info/exclude")).unwrap_or_default());
    Ok(ignored)
}

/// Returns where git looks for what a user ignores everywhere.
fn default_excludes() -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"));
    Some(folder.map(PathBuf::from).or_else(home)?.join("git/ignore"))
}
