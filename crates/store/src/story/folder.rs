//! The `.ai` folder on disk: whole files in and out, one process at a time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use adjutant_core::Time;
use adjutant_core::answer::Problem;
use adjutant_core::pipeline::claim::{Found, Papers};
use adjutant_core::pipeline::{Rules, State, StoryId};
use rustix::fs::{FlockOperation, OFlags, flock};

use super::rules::{self, BadRules};
use super::{StateFile, history, paper};
use crate::file::fault;
use crate::hash::Hash;

/// The folder in a project.
pub const FOLDER: &str = ".ai";

/// The hand-over that stories share.
const HANDOFF: &str = "HANDOFF.md";

/// Where the hand-overs lie that are a story's own.
const HANDOFFS: &str = "handoffs";

/// The project's own rules.
const RULES: &str = "step-rules.yaml";

/// How the name of a file begins that is not whole yet.
const TEMPORARY: &str = ".adjutant-new-";

/// How much of the history is looked at for what is there already.
const HISTORY_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A time read back from a file can be this much before the time it was written.
const CLOCK_SLACK_MILLIS: i64 = 2_000;

/// The `.ai` folder of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    root: PathBuf,
}

/// The file a story's state is in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// `STATE.json`.
    Main,
    /// `states/<story>.json`.
    Story(StoryId),
}

impl Slot {
    /// Returns the hand-over that is the story's own, as its state is; none for the one story whose
    /// state is `STATE.json`.
    fn own_handoff(&self) -> Option<String> {
        match self {
            Self::Main => None,
            Self::Story(story) => Some(format!("{HANDOFFS}/{story}.md")),
        }
    }

    /// Returns the hand-over an executor of the story is told of, from the root of the project.
    pub fn handoff(&self) -> String {
        format!("{FOLDER}/{}", self.own_handoff().as_deref().unwrap_or(HANDOFF))
    }
}

/// The right to change the folder, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Something that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There is no such folder.
    #[error("there is no .ai folder in {} or above it", .0.display())]
    NotFound(PathBuf),
    /// The disk says no.
    #[error("cannot {attempt} {}", .path.display())]
    Io {
        /// What was tried.
        attempt: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A state makes no sense.
    #[error("{} makes no sense", .path.display())]
    BadState {
        /// The file.
        path: PathBuf,
        /// Everything that is wrong with it.
        problems: Vec<Problem>,
    },
    /// The project's rules make no sense.
    #[error(transparent)]
    BadRules(#[from] BadRules),
}

impl FolderError {
    fn io(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { attempt, path, source }
    }
}

impl Folder {
    /// Takes the folder of the project at `root`, whether or not it is there yet.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Finds the project around a folder, as git finds its own.
    pub fn find(from: &Path) -> Result<Self, FolderError> {
        let has = |folder: &&Path| folder.join(FOLDER).is_dir();
        let found = from.ancestors().find(has).map(Self::at);
        found.ok_or_else(|| FolderError::NotFound(from.to_owned()))
    }

    /// Returns the root of the project.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of something in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(FOLDER).join(name)
    }

    /// Returns the path of a state.
    pub fn state_path(&self, slot: &Slot) -> PathBuf {
        match slot {
            Slot::Main => self.path("STATE.json"),
            Slot::Story(story) => self.path("states").join(format!("{story}.json")),
        }
    }

    /// Waits until no other process changes the folder, and clears what one left that was killed.
    pub fn lock(&self) -> Result<Lock, FolderError> {
        let path = self.path(".lock");
        make_folder(&self.root.join(FOLDER))?;
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(&path).map_err(FolderError::io("open", &path))?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(FolderError::io("lock", &path)(errno.into())),
            }
        }
        self.clear();
        Ok(Lock { _file: file })
    }

    /// Takes the right to look at what came of a story's step; waits for whoever has it.
    pub fn lock_hook(&self, slot: &Slot) -> Result<Lock, FolderError> {
        let (path, file) = self.hook_file(slot)?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(FolderError::io("lock", &path)(errno.into())),
            }
        }
    }

    /// Says whether somebody looks at what came of a story's step right now.
    pub fn is_hook_at_work(&self, slot: &Slot) -> Result<bool, FolderError> {
        let (_, file) = self.hook_file(slot)?;
        Ok(flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
    }

    fn hook_file(&self, slot: &Slot) -> Result<(PathBuf, File), FolderError> {
        let name = match slot {
            Slot::Main => ".hook.lock".to_owned(),
            Slot::Story(story) => format!(".hook-{story}.lock"),
        };
        let path = self.path(&name);
        make_folder(&self.root.join(FOLDER))?;
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(&path).map_err(FolderError::io("open", &path))?;
        Ok((path, file))
    }

    /// Removes what a process left that was killed while it wrote.
    fn clear(&self) {
        for folder in [self.root.join(FOLDER), self.path("states")] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
                    // Whoever comes next tries again.
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    /// Reads the project's rules over the defaults.
    pub fn rules(&self) -> Result<Rules, FolderError> {
        Ok(rules::load(&self.path(RULES))?)
    }

    /// Reads a state, if there is one.
    pub fn state(&self, slot: &Slot) -> Result<Option<StateFile>, FolderError> {
        let path = self.state_path(slot);
        let Some((bytes, _)) = read(&path).map_err(FolderError::io("read", &path))? else {
            return Ok(None);
        };
        let parsed = StateFile::parse(&bytes);
        parsed.map(Some).map_err(|problems| FolderError::BadState { path, problems })
    }

    /// Writes a state: whole, or not at all.
    pub fn put_state(&self, _: &Lock, slot: &Slot, text: &str) -> Result<(), FolderError> {
        self.put(&self.state_path(slot), text.as_bytes())
    }

    /// Returns the states there are, the main one first.
    pub fn slots(&self) -> Result<Vec<Slot>, FolderError> {
        let path = self.path("states");
        let mut slots = Vec::new();
        match fs::read_dir(&path) {
            Ok(entries) => {
                let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
                let story = |name: String| StoryId::parse(name.strip_suffix(".json")?).ok();
                let found = entries.flatten().filter_map(name).filter_map(story);
                slots.extend(found.map(Slot::Story));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(FolderError::io("list", &path)(error)),
        }
        if self.state_path(&Slot::Main).exists() {
            slots.push(Slot::Main);
        }
        slots.sort();
        Ok(slots)
    }

    /// Reads what an executor left, told from what was there before it was started.
    pub fn papers(&self, slot: &Slot, file: &StateFile) -> Result<Papers, FolderError> {
        let before = file.extra("papers_before");
        let known = |name: &str| before.and_then(|before| before.get(name)?.as_str());
        let since = file.state.dispatched_at;
        let result =
            self.paper("executor-result", known("executor-result"), since, paper::result)?;
        let handoff = self.paper(HANDOFF, known(HANDOFF), since, paper::handoff)?;
        let own = slot.own_handoff();
        let own = own.map(|name| self.paper(&name, known(&name), since, paper::handoff));
        Ok(Papers { result, own: own.transpose()?, handoff })
    }

    fn paper(
        &self,
        name: &str,
        before: Option<&str>,
        since: Option<Time>,
        parse: fn(&[u8]) -> Found,
    ) -> Result<Found, FolderError> {
        let path = self.path(name);
        let Some((bytes, stat)) = read(&path).map_err(FolderError::io("read", &path))? else {
            return Ok(Found::Nothing);
        };
        let written = stat.mtime().saturating_mul(1_000) + stat.mtime_nsec() / 1_000_000;
        let older = since.is_some_and(|since| written + CLOCK_SLACK_MILLIS < since.as_millis());
        if before == Some(&*sign(&bytes, &stat)) || older {
            return Ok(Found::Old);
        }
        Ok(parse(&bytes))
    }

    /// Puts what earlier executors left into the history, and returns the signs of what stays, so
    /// that it is not taken for something new. Done again after a crash, it does nothing twice.
    pub fn put_papers_aside(
        &self,
        lock: &Lock,
        state: &State,
        slot: &Slot,
        others: bool,
    ) -> Result<serde_json::Value, FolderError> {
        let mut signs = serde_json::Map::new();
        let own = slot.own_handoff();
        if own.is_some() {
            make_folder(&self.path(HANDOFFS))?;
        }
        for name in ["executor-result", HANDOFF].into_iter().chain(own.as_deref()) {
            // Where other stories are worked on, a paper that is shared may be theirs, and be news.
            let others = others && own.as_deref() != Some(name);
            let path = self.path(name);
            let Some((bytes, stat)) = read(&path).map_err(FolderError::io("read", &path))? else {
                continue;
            };
            if !others {
                self.add_to_history(lock, state, name, &String::from_utf8_lossy(&bytes))?;
            }
            if name == "executor-result" && !others {
                fault::point();
                fs::remove_file(&path).map_err(FolderError::io("remove", &path))?;
            } else {
                signs.insert(name.to_owned(), sign(&bytes, &stat).into());
            }
        }
        signs.insert(RULES.to_owned(), self.rules_sign().into());
        Ok(serde_json::Value::Object(signs))
    }

    /// Says whether the project's rules are others than when the present executor was started.
    pub fn have_rules_changed(&self, file: &StateFile) -> bool {
        let before = file.extra("papers_before").and_then(|before| before.get(RULES)?.as_str());
        before.is_some_and(|before| before != self.rules_sign())
    }

    fn rules_sign(&self) -> String {
        let rules = read(&self.path(RULES)).ok().flatten();
        rules.map_or("none".to_owned(), |(bytes, _)| Hash::of(&bytes).to_string())
    }

    fn add_to_history(
        &self,
        _: &Lock,
        state: &State,
        name: &str,
        text: &str,
    ) -> Result<(), FolderError> {
        let path = self.path("history.md");
        let history = read(&path).map_err(FolderError::io("read", &path))?;
        let history = history.map_or(String::new(), |(bytes, _)| {
            let from = bytes.len().saturating_sub(usize::try_from(HISTORY_BYTES_MAX).unwrap_or(0));
            String::from_utf8_lossy(&bytes[from..]).into_owned()
        });
        let Some(entry) = history::entry(&history, state, name, text) else { return Ok(()) };
        fault::point();
        let mut options = OpenOptions::new();
        let mut file = options
            .create(true)
            .append(true)
            .open(&path)
            .map_err(FolderError::io("open", &path))?;
        fault::write_all(&mut file, entry.as_bytes()).map_err(FolderError::io("write", &path))
    }

    fn put(&self, path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
        let folder = path.parent().unwrap_or(&self.root);
        make_folder(folder)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let new = folder.join(format!("{TEMPORARY}{}-{name}", std::process::id()));
        fault::point();
        let mut file = File::create(&new).map_err(FolderError::io("make", &new))?;
        fault::write_all(&mut file, bytes).map_err(FolderError::io("write", &new))?;
        fault::point();
        file.sync_all().map_err(FolderError::io("sync", &new))?;
        fault::point();
        fs::rename(&new, path).map_err(FolderError::io("replace", path))?;
        fault::point();
        let folder_file = File::open(folder).map_err(FolderError::io("open", folder))?;
        folder_file.sync_all().map_err(FolderError::io("sync", folder))
    }

    /// Writes a file of the project that is not there yet; says whether it did.
    pub fn make(&self, relative: &str, text: &str) -> Result<bool, FolderError> {
        let path = self.root.join(relative);
        make_folder(path.parent().unwrap_or(&self.root))?;
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes()).map_err(FolderError::io("write", &path))?;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(FolderError::io("make", &path)(error)),
        }
    }

    /// Replaces a file of the project: whole, or not at all.
    pub fn replace(&self, _: &Lock, relative: &str, text: &str) -> Result<(), FolderError> {
        self.put(&self.root.join(relative), text.as_bytes())
    }
}

fn make_folder(path: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(path).map_err(FolderError::io("make", path))
}

/// Reads a plain file. One that is no plain file could keep a reader waiting for ever.
fn read(path: &Path) -> io::Result<Option<(Vec<u8>, fs::Metadata)>> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let stat = file.metadata()?;
    if !stat.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    let mut bytes = Vec::new();
    file.take(16 * paper::BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Some((bytes, stat)))
}

/// Tells a file from what it is when somebody has written it again, be it the same text.
fn sign(bytes: &[u8], stat: &fs::Metadata) -> String {
    let (inode, seconds, nanos) = (stat.ino(), stat.mtime(), stat.mtime_nsec());
    format!("{}-{inode}-{seconds}.{nanos:09}", Hash::of(bytes))
}
