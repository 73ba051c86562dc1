//! The `.ai` folder on disk: reads and writes whole files, one process at a time.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use adjutant_core::story::claim::{FoundHandOver, HandOverFiles};
use adjutant_core::story::{StepRuleTable, StoryState};
use adjutant_model::Time;
use adjutant_model::answer::FieldProblem;
use adjutant_model::story::StoryId;
use adjutant_process::test_runner::test_command;
use adjutant_store::file::fault;
use adjutant_store::hash::ShortHash;
use rustix::fs::{FlockOperation, OFlags, flock};

use super::own_fields::{TEST_COMMAND, test_command_field};
use super::rules::{self, InvalidRules};
use super::{StateFile, hand_over, history};

pub const FOLDER: &str = ".ai";

/// The hand-over file that all stories share.
const HANDOFF: &str = "HANDOFF.md";

/// The result that all stories share.
const EXECUTOR_RESULT: &str = "executor-result";

/// The folder of the hand-overs of single stories.
const HANDOFFS: &str = "handoffs";

/// The project's prompt template for all steps, and the folder of those for single steps.
pub(crate) const PROMPT: &str = "prompt.md";
pub(crate) const PROMPTS: &str = "prompts";

/// The most prompt templates that are kept.
const PROMPTS_MAX: usize = 100;

/// The project's own step rules.
const RULES: &str = "step-rules.yaml";

/// The prefix of files that are still being written.
const TEMPORARY: &str = ".adjutant-new-";

/// The part of the history, from its end, that is searched for an entry.
const HISTORY_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The modification time of a file can be this much before the time it was written.
const CLOCK_SLACK_MILLIS: i64 = 2_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryFolder {
    root: PathBuf,
}

/// The file that holds a story's state.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateSlot {
    /// Stored in `STATE.json`.
    Main,
    /// Stored in `states/<story>.json`.
    Story(StoryId),
}

impl StateSlot {
    /// Returns the story's own hand-over file; `None` for the story whose state is `STATE.json`.
    fn own_handoff(&self) -> Option<String> {
        match self {
            Self::Main => None,
            Self::Story(story) => Some(format!("{HANDOFFS}/{story}.md")),
        }
    }

    fn hook_lock(&self) -> String {
        match self {
            Self::Main => ".hook.lock".to_owned(),
            Self::Story(story) => format!(".hook-{story}.lock"),
        }
    }

    /// Returns the hand-over file that an executor of the story is told to write, relative to the
    /// root of the project.
    pub fn handoff(&self) -> String {
        format!("{FOLDER}/{}", self.own_handoff().as_deref().unwrap_or(HANDOFF))
    }
}

/// The exclusive lock on the folder, until it is dropped.
#[derive(Debug)]
pub struct StoryLock {
    _file: File,
}

#[derive(Debug, thiserror::Error)]
pub enum StoryFolderError {
    #[error("there is no .ai folder in {} or above it", .0.display())]
    NotFound(PathBuf),
    #[error("cannot {attempt} {}", .path.display())]
    Io { attempt: &'static str, path: PathBuf, source: io::Error },
    /// The state file is invalid.
    #[error("{} is invalid", .path.display())]
    BadState { path: PathBuf, problems: Vec<FieldProblem> },
    /// The project's step rules are invalid.
    #[error(transparent)]
    BadRules(#[from] InvalidRules),
}

impl StoryFolderError {
    pub(super) fn io(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { attempt, path, source }
    }
}

impl StoryFolder {
    /// Returns the folder of the project at `root`, which need not exist yet.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Finds the project that contains a folder, as git does.
    pub fn find(from: &Path) -> Result<Self, StoryFolderError> {
        let has = |folder: &&Path| folder.join(FOLDER).is_dir();
        let found = from.ancestors().find(has).map(Self::at);
        found.ok_or_else(|| StoryFolderError::NotFound(from.to_owned()))
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(FOLDER).join(name)
    }

    pub fn state_path(&self, slot: &StateSlot) -> PathBuf {
        match slot {
            StateSlot::Main => self.path("STATE.json"),
            StateSlot::Story(story) => self.path("states").join(format!("{story}.json")),
        }
    }

    /// Waits for the lock, and removes temporary files of processes that were killed.
    pub fn lock(&self) -> Result<StoryLock, StoryFolderError> {
        let lock = self.wait_for_lock(".lock")?;
        self.remove_temporary_files();
        Ok(lock)
    }

    /// Waits for the right to run a story's hook, which checks the result of its step.
    pub fn lock_hook(&self, slot: &StateSlot) -> Result<StoryLock, StoryFolderError> {
        self.wait_for_lock(&slot.hook_lock())
    }

    /// Returns whether a process runs a story's hook right now.
    pub fn is_hook_running(&self, slot: &StateSlot) -> Result<bool, StoryFolderError> {
        let (_, file) = self.open_lock(&slot.hook_lock())?;
        Ok(flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
    }

    fn wait_for_lock(&self, name: &str) -> Result<StoryLock, StoryFolderError> {
        let (path, file) = self.open_lock(name)?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(StoryLock { _file: file }),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(StoryFolderError::io("lock", &path)(errno.into())),
            }
        }
    }

    fn open_lock(&self, name: &str) -> Result<(PathBuf, File), StoryFolderError> {
        let path = self.path(name);
        make_folder(&self.root.join(FOLDER))?;
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(&path).map_err(StoryFolderError::io("open", &path))?;
        Ok((path, file))
    }

    /// Removes the temporary files of a process that was killed while it wrote.
    fn remove_temporary_files(&self) {
        for folder in [self.root.join(FOLDER), self.path("states")] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
                    // If this fails, the next process tries again.
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    /// Reads the text of the project's rules; `None` if it has none of its own.
    pub fn rules_text(&self) -> Result<Option<String>, StoryFolderError> {
        let path = self.path(RULES);
        let bad = |what: String| InvalidRules { path: path.clone(), line: None, what };
        let Some((bytes, _)) = read(&path).map_err(|error| bad(error.to_string()))? else {
            return Ok(None);
        };
        if bytes.len() > rules::BYTES_MAX {
            return Err(bad(format!("longer than {} bytes", rules::BYTES_MAX)).into());
        }
        let text = String::from_utf8(bytes);
        Ok(Some(text.map_err(|error| bad(error.to_string()))?))
    }

    /// Parses the project's rules, merged over the defaults.
    pub fn parse_rules(&self, text: Option<&str>) -> Result<StepRuleTable, StoryFolderError> {
        Ok(rules::parse_text(text, &self.path(RULES))?)
    }

    /// Replaces the project's rules; `None` removes them.
    pub fn replace_rules(&self, text: Option<&str>) -> Result<(), StoryFolderError> {
        let path = self.path(RULES);
        let Some(text) = text else {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(StoryFolderError::io("remove", &path)(error))
                }
                Ok(()) | Err(_) => Ok(()),
            };
        };
        self.write_atomically(&path, text.as_bytes())
    }

    /// Reads the text of a state file; `None` if it is missing or cannot be read.
    pub(super) fn state_text(&self, slot: &StateSlot) -> Option<String> {
        let (bytes, _) = read(&self.state_path(slot)).ok()??;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads the project's prompt templates, by their path in the folder.
    pub(super) fn prompt_texts(&self) -> BTreeMap<String, String> {
        let entries = fs::read_dir(self.path(PROMPTS)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let names = names.map(|name| format!("{PROMPTS}/{name}")).take(PROMPTS_MAX);
        let text = |name: String| {
            let (bytes, _) = read(&self.path(&name)).ok()??;
            Some((name, String::from_utf8_lossy(&bytes).into_owned()))
        };
        names.chain([PROMPT.to_owned()]).filter_map(text).collect()
    }

    /// Replaces the prompt templates that differ, and removes those that are new.
    pub(super) fn replace_prompts(
        &self,
        found: &BTreeMap<String, String>,
        kept: &BTreeMap<String, String>,
    ) -> Result<(), StoryFolderError> {
        for (name, text) in kept.iter().filter(|(name, text)| found.get(*name) != Some(text)) {
            self.write_atomically(&self.path(name), text.as_bytes())?;
        }
        for name in found.keys().filter(|name| !kept.contains_key(*name)) {
            let path = self.path(name);
            fs::remove_file(&path).map_err(StoryFolderError::io("remove", &path))?;
        }
        Ok(())
    }

    pub fn state(&self, slot: &StateSlot) -> Result<Option<StateFile>, StoryFolderError> {
        let path = self.state_path(slot);
        let Some((bytes, _)) = read(&path).map_err(StoryFolderError::io("read", &path))? else {
            return Ok(None);
        };
        let parsed = StateFile::parse(&bytes);
        parsed.map(Some).map_err(|problems| StoryFolderError::BadState { path, problems })
    }

    /// Writes a state file atomically.
    pub fn put_state(
        &self,
        _: &StoryLock,
        slot: &StateSlot,
        text: &str,
    ) -> Result<(), StoryFolderError> {
        self.write_atomically(&self.state_path(slot), text.as_bytes())
    }

    /// Returns the states that exist, the main one first.
    pub fn slots(&self) -> Result<Vec<StateSlot>, StoryFolderError> {
        let path = self.path("states");
        let mut slots = Vec::new();
        match fs::read_dir(&path) {
            Ok(entries) => {
                let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
                let story = |name: String| StoryId::parse(name.strip_suffix(".json")?).ok();
                let found = entries.flatten().filter_map(name).filter_map(story);
                slots.extend(found.map(StateSlot::Story));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoryFolderError::io("list", &path)(error)),
        }
        if self.state_path(&StateSlot::Main).exists() {
            slots.push(StateSlot::Main);
        }
        slots.sort();
        Ok(slots)
    }

    /// Reads the hand-overs of the present executor; files from before its start count as old.
    pub fn read_hand_overs(
        &self,
        slot: &StateSlot,
        file: &StateFile,
    ) -> Result<HandOverFiles, StoryFolderError> {
        let read = |name: &str, parse| self.read_hand_over(name, file, parse);
        let own = slot.own_handoff();
        Ok(HandOverFiles {
            result: read(EXECUTOR_RESULT, hand_over::parse_executor_result)?,
            handoff: read(HANDOFF, hand_over::parse_handoff)?,
            own_handoff: own.map(|name| read(&name, hand_over::parse_handoff)).transpose()?,
        })
    }

    fn read_hand_over(
        &self,
        name: &str,
        file: &StateFile,
        parse: fn(&[u8]) -> FoundHandOver,
    ) -> Result<FoundHandOver, StoryFolderError> {
        let path = self.path(name);
        let Some((bytes, stat)) = read(&path).map_err(StoryFolderError::io("read", &path))? else {
            return Ok(FoundHandOver::Missing);
        };
        let written = stat.mtime().saturating_mul(1_000) + stat.mtime_nsec() / 1_000_000;
        let is_older = |since: Time| written + CLOCK_SLACK_MILLIS < since.as_millis();
        if file.fingerprint_before(name) == Some(&*fingerprint(&bytes, &stat))
            || file.state.dispatched_at.is_some_and(is_older)
        {
            return Ok(FoundHandOver::Unchanged);
        }
        Ok(parse(&bytes))
    }

    /// Adds the hand-overs of earlier executors to the history, and returns the fingerprints
    /// of the files that stay, so that they do not count as new. Repeating it after a crash
    /// does nothing twice.
    pub fn archive_hand_overs(
        &self,
        lock: &StoryLock,
        state: &StoryState,
        slot: &StateSlot,
        others: bool,
    ) -> Result<serde_json::Value, StoryFolderError> {
        let mut fingerprints = serde_json::Map::new();
        let own = slot.own_handoff();
        if own.is_some() {
            make_folder(&self.path(HANDOFFS))?;
        }
        for name in [EXECUTOR_RESULT, HANDOFF].into_iter().chain(own.as_deref()) {
            // While other stories run, a shared hand-over may be a new one of theirs.
            let others = others && own.as_deref() != Some(name);
            let path = self.path(name);
            let Some((bytes, stat)) = read(&path).map_err(StoryFolderError::io("read", &path))?
            else {
                continue;
            };
            if !others {
                self.add_to_history(lock, state, name, &String::from_utf8_lossy(&bytes))?;
            }
            if name == EXECUTOR_RESULT && !others {
                fault::point();
                fs::remove_file(&path).map_err(StoryFolderError::io("remove", &path))?;
            } else {
                fingerprints.insert(name.to_owned(), fingerprint(&bytes, &stat).into());
            }
        }
        fingerprints.insert(RULES.to_owned(), self.rules_fingerprint().into());
        if let Some(command) = test_command::find(&self.root) {
            fingerprints.insert(TEST_COMMAND.to_owned(), test_command_field(&command));
        }
        Ok(serde_json::Value::Object(fingerprints))
    }

    /// Returns whether the project's rules changed since the present executor was started.
    pub fn have_rules_changed(&self, file: &StateFile) -> bool {
        let before = file.fingerprint_before(RULES);
        before.is_some_and(|before| before != self.rules_fingerprint())
    }

    fn rules_fingerprint(&self) -> String {
        let rules = read(&self.path(RULES)).ok().flatten();
        rules.map_or("none".to_owned(), |(bytes, _)| ShortHash::digest(&bytes).to_string())
    }

    fn add_to_history(
        &self,
        _: &StoryLock,
        state: &StoryState,
        name: &str,
        text: &str,
    ) -> Result<(), StoryFolderError> {
        let path = self.path("history.md");
        let history = read(&path).map_err(StoryFolderError::io("read", &path))?;
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
            .map_err(StoryFolderError::io("open", &path))?;
        fault::write_all(&mut file, entry.as_bytes()).map_err(StoryFolderError::io("write", &path))
    }

    fn write_atomically(&self, path: &Path, bytes: &[u8]) -> Result<(), StoryFolderError> {
        let folder = path.parent().unwrap_or(&self.root);
        make_folder(folder)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let new = folder.join(format!("{TEMPORARY}{}-{name}", std::process::id()));
        fault::point();
        let mut file = File::create(&new).map_err(StoryFolderError::io("create", &new))?;
        fault::write_all(&mut file, bytes).map_err(StoryFolderError::io("write", &new))?;
        fault::point();
        file.sync_all().map_err(StoryFolderError::io("sync", &new))?;
        fault::point();
        fs::rename(&new, path).map_err(StoryFolderError::io("replace", path))?;
        fault::point();
        let folder_file = File::open(folder).map_err(StoryFolderError::io("open", folder))?;
        folder_file.sync_all().map_err(StoryFolderError::io("sync", folder))
    }

    /// Writes a file of the project if it does not exist; returns whether it did.
    pub fn create_file(&self, relative: &str, text: &str) -> Result<bool, StoryFolderError> {
        let path = self.root.join(relative);
        make_folder(path.parent().unwrap_or(&self.root))?;
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes()).map_err(StoryFolderError::io("write", &path))?;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(StoryFolderError::io("create", &path)(error)),
        }
    }

    /// Replaces a file of the project atomically.
    pub fn replace(
        &self,
        _: &StoryLock,
        relative: &str,
        text: &str,
    ) -> Result<(), StoryFolderError> {
        self.write_atomically(&self.root.join(relative), text.as_bytes())
    }
}

fn make_folder(path: &Path) -> Result<(), StoryFolderError> {
    fs::create_dir_all(path).map_err(StoryFolderError::io("create", path))
}

/// Reads a regular file. Any other kind, such as a pipe, could block the reader for ever.
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
        return Err(io::Error::other("it is not a plain file"));
    }
    let mut bytes = Vec::new();
    file.take(16 * hand_over::BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Some((bytes, stat)))
}

/// Returns a fingerprint that changes when the file is written again, even with the same text.
fn fingerprint(bytes: &[u8], stat: &fs::Metadata) -> String {
    let (inode, seconds, nanos) = (stat.ino(), stat.mtime(), stat.mtime_nsec());
    format!("{}-{inode}-{seconds}.{nanos:09}", ShortHash::digest(bytes))
}
