//! The settings that a daemon works by while it runs: its configuration, which follows
//! `adjutant.toml`, and which agents can be started on this machine.
//!
//! A changed file is read when it has been the same for a moment, so that a save in progress is not
//! taken for a change. A file that cannot be used changes nothing, and a file that the operator has
//! not accepted changes only harmless settings.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};
use std::{fs, io};

use adjutant_config::{
    AcceptedConfig, Agent, Config, ConfigError, FILE, SharedConfig, environment_variables,
};
use adjutant_core::World;
use adjutant_model::policy::ConfigState;
use adjutant_model::story::StoryId;
use adjutant_model::{AgentId, Policy, Status, Task};
use adjutant_run_files::active_config::ActiveConfig;
use adjutant_run_files::trust_record::{RecordStamp, TrustRecord, is_accepted_by_environment};
use adjutant_runs::agent::program::find_program_problems;
use adjutant_runs::sandbox::auto_level::{
    settle_sandboxes, strongest_level, tried_strongest_level,
};
use adjutant_runs::sandbox::resource_limits::first_unenforceable_limit;
use adjutant_store::file::DataFolder;

/// The shortest time between two looks for the programs of agents.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How long the file must stay the same before it is read.
pub(super) const SETTLE_TIME: Duration = Duration::from_millis(200);

/// Whether a daemon follows the file of its configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigSource {
    /// Changes of `adjutant.toml` are applied.
    File,
    /// The configuration was made by the caller and stays.
    Fixed,
}

/// What happened to the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigUpdate {
    /// The file was changed, and is in effect but for the settings that need a restart.
    Applied { restart: Vec<String> },
    /// The file cannot be used, for this reason. The settings before it stay in effect.
    Refused(String),
    /// These settings of the file wait until the operator accepts them.
    Unaccepted(Vec<String>),
}

/// The state of a file that changes when the file is written or replaced.
type ConfigFileStamp = (SystemTime, u64, u64);

/// The state of the file and of the record of its acceptance.
type ConfigStamp = (Option<ConfigFileStamp>, Option<RecordStamp>);

/// The agents that have work: their settings must not change meanwhile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BusyAgents {
    /// They have a run.
    running: BTreeSet<AgentId>,
    /// Their work is in review, and may have to be merged.
    in_review: BTreeSet<AgentId>,
}

pub(super) struct LiveSettings {
    folder: DataFolder,
    source: ConfigSource,
    /// What the operator accepted; `None` if there is no state folder.
    record: Option<TrustRecord>,
    /// What the file says, with the settings that need a restart as they were at the start.
    wanted: Config,
    /// The configuration in effect: `wanted`, but for agents that are busy.
    config: Config,
    shared: SharedConfig,
    /// The text of `wanted`.
    text: String,
    problem: Option<String>,
    /// The settings of the file that the operator has not accepted.
    unaccepted: Vec<String>,
    restart: Vec<String>,
    program_problems: BTreeMap<AgentId, Box<str>>,
    /// The agents whose new settings wait for the end of their runs.
    waiting_agents: Vec<AgentId>,
    /// The file as it was read last.
    read_stamp: ConfigStamp,
    /// The file as it is now, and since when it is so, if it was not read since.
    unread: Option<(ConfigStamp, Instant)>,
    programs_seen_at: Instant,
    /// The only story to assign work for.
    only: Option<StoryId>,
    policy: Policy,
    /// Whether something has changed that is not in `policy` yet.
    is_changed: bool,
}

/// Settles what `sandbox = "auto"` stands for in this process.
fn settle(config: &mut Config, folder: &DataFolder) {
    let strongest = || strongest_level(&std::env::current_exe().unwrap_or_default());
    settle_sandboxes(config, &folder.workspace(), folder.root(), strongest);
}

impl LiveSettings {
    pub(super) fn new(
        folder: DataFolder,
        config: Config,
        source: ConfigSource,
        only: Option<StoryId>,
    ) -> Self {
        let record = TrustRecord::find(folder.root()).ok();
        Self::with_record(folder, config, source, only, record)
    }

    fn with_record(
        folder: DataFolder,
        mut config: Config,
        source: ConfigSource,
        only: Option<StoryId>,
        record: Option<TrustRecord>,
    ) -> Self {
        settle(&mut config, &folder);
        let mut settings = Self {
            wanted: config.clone(),
            shared: SharedConfig::new(config.clone()),
            config,
            folder,
            source,
            record,
            text: String::new(),
            problem: None,
            unaccepted: vec![],
            restart: vec![],
            program_problems: BTreeMap::new(),
            waiting_agents: vec![],
            read_stamp: (None, None),
            unread: None,
            programs_seen_at: Instant::now(),
            only,
            policy: Policy::default(),
            is_changed: false,
        };
        settings.read_stamp = settings.stamp();
        // If the file has changed since the caller read it, the first look applies the change.
        match settings.read_file().and_then(|text| Ok((settings.accept(&text)?, text))) {
            Ok((accepted, text)) if accepted.config == settings.config => {
                (settings.text, settings.unaccepted) = (text, accepted.pending_names());
            }
            Ok(_) | Err(_) if settings.follows_file() && settings.read_stamp.0.is_some() => {
                settings.unread = Some((settings.read_stamp, Instant::now()));
            }
            Ok(_) | Err(_) => {}
        }
        settings.look_for_programs();
        settings.policy = settings.current_policy();
        settings
    }

    /// Returns the policy as of the last look.
    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the configuration in effect, for other threads.
    pub(super) fn shared(&self) -> SharedConfig {
        self.shared.clone()
    }

    /// Looks for a changed file and for programs that were installed or removed. Returns what
    /// happened to the file. The settings change when [`LiveSettings::apply`] is called.
    pub(super) fn look(&mut self) -> Option<ConfigUpdate> {
        let update = self.read_changes();
        if update.is_some() || self.programs_seen_at.elapsed() >= LOOK_INTERVAL {
            self.look_for_programs();
        }
        update
    }

    /// Returns whether agents have settings that are not in effect yet.
    pub(super) fn has_pending_agents(&self) -> bool {
        self.wanted != self.config
    }

    /// Puts what was found into effect. Returns whether anything has changed.
    pub(super) fn apply(&mut self, busy: &BusyAgents) -> bool {
        if self.has_pending_agents() {
            self.apply_wanted(busy);
            self.look_for_programs();
        }
        if !std::mem::take(&mut self.is_changed) {
            return false;
        }
        self.policy = self.current_policy();
        true
    }

    /// Returns how soon it is worth looking again; `None` if there is nothing to wait for.
    pub(super) fn next_look(&self) -> Option<Duration> {
        let settling = self.unread.is_some().then_some(SETTLE_TIME);
        // The record of an acceptance is not in the watched folder.
        let waits = !self.program_problems.is_empty() || !self.unaccepted.is_empty();
        settling.or(waits.then_some(LOOK_INTERVAL))
    }

    /// Returns what other processes need to know about these settings.
    pub(super) fn active_config(&self) -> ActiveConfig {
        ActiveConfig {
            pid: std::process::id(),
            has_file: !self.text.is_empty(),
            accepted_text: self.problem.is_some().then(|| self.text.clone()),
            problem: self.problem.clone(),
            unaccepted: self.unaccepted.clone(),
            restart: self.restart.clone(),
            program_problems: self.program_problems.clone(),
            waiting_agents: self.waiting_agents.clone(),
            sandbox: tried_strongest_level().map(|(level, _)| level),
        }
    }

    fn follows_file(&self) -> bool {
        self.source == ConfigSource::File
    }

    /// Reads the file if it has changed and is not being written.
    fn read_changes(&mut self) -> Option<ConfigUpdate> {
        if !self.follows_file() {
            return None;
        }
        let stamp = self.stamp();
        match self.unread {
            None if stamp == self.read_stamp => return None,
            Some((same, since)) if same == stamp => {
                if since.elapsed() < SETTLE_TIME {
                    return None;
                }
            }
            None | Some(_) => {
                self.unread = Some((stamp, Instant::now()));
                return None;
            }
        }
        (self.unread, self.read_stamp) = (None, stamp);
        let (text, accepted) = match self.read_file().and_then(|it| Ok((self.accept(&it)?, it))) {
            Ok((accepted, text)) => (text, accepted),
            Err(problem) if self.problem.as_ref() == Some(&problem) => return None,
            Err(problem) => {
                self.problem = Some(problem.clone());
                self.is_changed = true;
                return Some(ConfigUpdate::Refused(problem));
            }
        };
        let (wanted, restart) = self.wanted.with_changes(&accepted.config);
        let restart: Vec<String> = restart.into_iter().map(str::to_owned).collect();
        let unaccepted = accepted.pending_names();
        let is_same = wanted == self.wanted
            && restart == self.restart
            && unaccepted == self.unaccepted
            && self.problem.is_none();
        (self.text, self.wanted, self.problem) = (text, wanted, None);
        self.restart.clone_from(&restart);
        self.unaccepted.clone_from(&unaccepted);
        self.is_changed |= !is_same;
        let update = if unaccepted.is_empty() {
            ConfigUpdate::Applied { restart }
        } else {
            ConfigUpdate::Unaccepted(unaccepted)
        };
        (!is_same).then_some(update)
    }

    /// Puts the wanted configuration into effect. A busy agent keeps its settings and gets no more
    /// work until its runs have ended; a removed one also until its work was reviewed.
    fn apply_wanted(&mut self, busy: &BusyAgents) {
        let mut config = self.wanted.clone();
        self.waiting_agents.clear();
        for (name, agent) in &self.config.agents {
            let Ok(id) = AgentId::parse(name) else { continue };
            let new = self.wanted.agents.get(name);
            let is_busy =
                busy.running.contains(&id) || (new.is_none() && busy.in_review.contains(&id));
            let old = Agent { slots: new.map_or(0, |new| new.slots), ..agent.clone() };
            if is_busy && new != Some(&old) {
                config.agents.insert(name.clone(), Agent { slots: 0, ..old });
                self.waiting_agents.push(id);
            }
        }
        if config != self.config {
            self.shared.set(config.clone());
            self.config = config;
            self.is_changed = true;
        }
    }

    fn look_for_programs(&mut self) {
        self.programs_seen_at = Instant::now();
        let problems = find_program_problems(&self.config, &self.folder.workspace());
        self.is_changed |= problems != self.program_problems;
        self.program_problems = problems;
    }

    fn current_policy(&self) -> Policy {
        let policy = self.config.policy().with_program_problems(&self.program_problems);
        let state = ConfigState {
            problem: self.problem.as_deref().map(Into::into),
            unaccepted: self.unaccepted.iter().map(|name| name.as_str().into()).collect(),
            restart: self.restart.iter().map(|name| name.as_str().into()).collect(),
        };
        Policy { only: self.only.clone(), config: state, ..policy }
    }

    fn path(&self) -> PathBuf {
        self.folder.root().join(FILE)
    }

    fn stamp(&self) -> ConfigStamp {
        let file = fs::metadata(self.path()).ok();
        let file = file.and_then(|file| Some((file.modified().ok()?, file.len(), file.ino())));
        (file, self.record.as_ref().and_then(TrustRecord::stamp))
    }

    fn accept(&self, text: &str) -> Result<AcceptedConfig, String> {
        let accepted = accept_config(text, self.record.as_ref());
        let mut accepted = accepted.map_err(|error| error.to_string())?;
        settle(&mut accepted.config, &self.folder);
        match first_unenforceable_limit(&accepted.config) {
            Some(why) => Err(why),
            None => Ok(accepted),
        }
    }

    fn read_file(&self) -> Result<String, String> {
        fs::read_to_string(self.path()).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "the file is missing".to_owned(),
            _ => error.to_string(),
        })
    }
}

/// Decides which settings of a file may take effect: those that the operator accepted for this data
/// folder, and harmless ones. `ADJUTANT_TRUST=accept` accepts the file. This is the only place where
/// a daemon or a command accepts a configuration without asking.
pub fn accept_config(
    text: &str,
    record: Option<&TrustRecord>,
) -> Result<AcceptedConfig, ConfigError> {
    let variables = environment_variables();
    let accepted = record.and_then(TrustRecord::read);
    let read = AcceptedConfig::read(text, accepted.as_deref(), &variables)?;
    if read.pending.is_empty() || !is_accepted_by_environment() {
        return Ok(read);
    }
    // If the record cannot be written, the variable still accepts the file for this process.
    let _ = record.map(|record| record.accept(text));
    AcceptedConfig::whole(text, &variables)
}

impl BusyAgents {
    pub(super) fn find(world: &World) -> Self {
        let open = |task: &Task| task.history.open.as_ref().map(|run| run.agent.clone());
        let leased = |task: &Task| task.lease().map(|lease| lease.agent.clone());
        let last = |task: &Task| task.last_run.as_ref().map(|run| run.agent.clone());
        let working = world.with_status(Status::InProgress);
        Self {
            running: working.filter_map(|task| leased(task).or_else(|| open(task))).collect(),
            in_review: world.with_status(Status::Review).filter_map(last).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> (tempfile::TempDir, LiveSettings) {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = DataFolder::init(home.path()).expect("a data folder");
        fs::write(folder.root().join(FILE), text).expect("written");
        let config = AcceptedConfig::whole(text, &[]).expect("it is valid").config;
        let record = TrustRecord::at(folder.root(), &home.path().join("state"));
        let record = record.expect("a data folder");
        record.accept(text).expect("recorded");
        let source = ConfigSource::File;
        (home, LiveSettings::with_record(folder, config, source, None, Some(record)))
    }

    /// Looks until something happens, for at most a few seconds.
    fn next_update(settings: &mut LiveSettings) -> Option<ConfigUpdate> {
        (0..200).find_map(|_| {
            std::thread::sleep(Duration::from_millis(20));
            settings.look()
        })
    }

    #[test]
    fn config_that_is_being_written_is_not_read() {
        let (_home, mut settings) = settings("[scheduler]\nconcurrency = 1\n");
        let path = settings.path();
        for number in 2..12 {
            fs::write(&path, format!("[scheduler]\nconcurrency = {number}\n#{number:>9}"))
                .expect("written");
            assert_eq!(settings.look(), None, "it was changed a moment ago");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(next_update(&mut settings), Some(ConfigUpdate::Applied { restart: vec![] }));
        assert!(settings.apply(&BusyAgents::default()));
        assert_eq!(settings.policy().scheduler.concurrency, 11);
    }

    #[test]
    fn busy_agent_keeps_settings_and_gets_no_work_until_its_runs_end() {
        let dev = "[agents.dev]\nkind = \"command\"\ncommand = [\"sh\"]\nslots = 2\n";
        let (_home, mut settings) = settings(dev);
        let changed = format!("{dev}timeout = \"1h\"\n");
        settings.record.as_ref().expect("a record").accept(&changed).expect("recorded");
        fs::write(settings.path(), changed).expect("written");
        assert!(next_update(&mut settings).is_some());
        let dev = AgentId::parse("dev").expect("a name");
        let busy = BusyAgents { running: [dev.clone()].into(), ..BusyAgents::default() };
        assert!(settings.apply(&busy));
        assert_eq!(settings.policy().agents[&dev].slots, 0);
        assert_eq!(settings.config().agents["dev"].timeout, None);
        assert_eq!(settings.active_config().waiting_agents, std::slice::from_ref(&dev));
        assert!(!settings.apply(&busy), "nothing is new");
        assert!(settings.apply(&BusyAgents::default()));
        assert_eq!(settings.policy().agents[&dev].slots, 2);
        assert!(settings.config().agents["dev"].timeout.is_some());
        assert!(settings.active_config().waiting_agents.is_empty());
    }

    #[test]
    fn config_change_waits_for_acceptance_and_keeps_accepted_settings() {
        let checks = |command: &str| format!("[project]\nchecks = [{command:?}]\n");
        let (_home, mut settings) = settings(&checks("make"));
        let changed = format!("{}[scheduler]\nconcurrency = 9\n", checks("curl evil"));
        fs::write(settings.path(), &changed).expect("written");
        let waits = ConfigUpdate::Unaccepted(vec!["project.checks".to_owned()]);
        assert_eq!(next_update(&mut settings), Some(waits));
        assert!(settings.apply(&BusyAgents::default()));
        assert_eq!(settings.config().project.checks, ["make"]);
        assert_eq!(settings.policy().scheduler.concurrency, 9);
        assert_eq!(settings.policy().config.unaccepted, ["project.checks".into()]);
        assert_eq!(settings.active_config().unaccepted, ["project.checks"]);
        settings.record.as_ref().expect("a record").accept(&changed).expect("recorded");
        assert_eq!(next_update(&mut settings), Some(ConfigUpdate::Applied { restart: vec![] }));
        assert!(settings.apply(&BusyAgents::default()));
        assert_eq!(settings.config().project.checks, ["curl evil"]);
        assert!(settings.policy().config.unaccepted.is_empty());
    }
}
