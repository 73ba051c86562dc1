//! Looks into what a run said, and merges what was approved: what of it needs git, a shell and time.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use adjutant_core::evidence::{Check, Evidence};
use adjutant_core::policy::{self, Policy};
use adjutant_core::run::Exit;
use adjutant_core::work::Merged;
use adjutant_core::{Task, TaskId};
use adjutant_store::wire::work::EvidenceWire;

use crate::config::{Config, Sandbox};
use crate::crew::Looked;
use crate::testrun::run::Terms;
use crate::worktree::{How, Merge, Ready, Refused, Saved, Settled, Setup, Yard};

/// The file that says what was found out, in the folder of the attempt.
pub const EVIDENCE: &str = "evidence.json";

/// The folder with what each check printed, in the folder of the attempt.
const CHECKS: &str = "checks";

/// How much of what a check printed is told.
const TAIL_LINES: usize = 20;
const TAIL_CHARS: usize = 2_000;

/// Everything that is to be known about the work on a task.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) yard: Yard,
    /// The data folder.
    pub(super) root: PathBuf,
    pub(super) task: Task,
    pub(super) agent: String,
    pub(super) attempt: u32,
    /// Whether it has a work tree of its own.
    pub(super) on_branch: bool,
    /// Whether its agent is kept in a sandbox.
    pub(super) confined: bool,
    /// The folder its agent works in, where it has none.
    pub(super) folder: PathBuf,
    pub(super) checks: Vec<String>,
    pub(super) setup: Setup,
    pub(super) terms: Terms,
}

impl Job {
    /// Gathers what is to be known; none if no run ever worked on the task.
    pub(super) fn of(
        task: &Task,
        (root, home): (&Path, &Path),
        config: &Config,
        policy: &Policy,
        terms: Terms,
    ) -> Option<Self> {
        let lease = task.lease().map(|lease| (lease.agent.clone(), lease.attempt));
        let last = || task.last_run.as_ref().map(|run| (run.agent.clone(), run.attempt));
        let (agent, attempt) = lease.or_else(last)?;
        let inner = config.agent(&agent).and_then(|agent| agent.workspace.clone());
        let on_branch = policy.is_on_branch(task);
        let folder = inner.filter(|_| !on_branch).map_or(home.to_owned(), |inner| home.join(inner));
        Some(Self {
            yard: Yard::new(root, home, config.project.base.clone()),
            root: root.to_owned(),
            task: task.clone(),
            agent: agent.to_string(),
            attempt,
            on_branch,
            confined: config.agent(&agent).is_some_and(|agent| agent.sandbox == Sandbox::Landlock),
            folder,
            checks: policy.checks_of(task).iter().map(ToString::to_string).collect(),
            setup: setup(config),
            terms: Terms { mark: Some(mark(root, &task.id)), ..terms },
        })
    }

    /// Makes the work tree ready for a run. What lies in it is that of the attempt before.
    pub(super) fn prepare(&self, attempt: u32) -> Result<Ready, Refused> {
        self.terms.end_strays();
        let last = attempt.saturating_sub(1);
        let ready = self.yard.prepare(&self.task.id, last, &self.setup, &self.terms)?;
        let git = self.confined.then(|| self.yard.enclose(&self.task.id)).transpose()?;
        Ok(Ready { git, ..ready })
    }

    /// Looks into what a run said.
    pub(super) fn look_into(&self) -> Looked {
        self.terms.end_strays();
        let (evidence, saved, workspace) = match self.on_branch.then(|| self.settle()) {
            Some(Ok(settled)) => {
                let workspace = self.yard.workspace(&self.task.id);
                (of_branch(&settled), settled.saved, workspace)
            }
            Some(Err(Refused(why))) => {
                let evidence = Evidence { flaw: Some(why), ..Evidence::default() };
                (evidence, None, None)
            }
            None => (self.of_folder(), None, Some(self.folder.clone())),
        };
        let checks = workspace.map(|at| self.run_checks(&at, CHECKS)).unwrap_or_default();
        let evidence = Evidence { checks, ..evidence };
        if self.on_branch && evidence.flaw.is_none() {
            // What checks left is nobody's work. What cannot be cleared is saved later.
            let _ = self.yard.clear_up(&self.task.id);
        }
        self.write(EVIDENCE, &evidence);
        Looked { evidence, saved }
    }

    fn settle(&self) -> Result<Settled, Refused> {
        self.yard.settle(&self.task.id, &self.task.title, &self.agent, self.attempt)
    }

    fn of_folder(&self) -> Evidence {
        let (commit, dirty) = self.yard.standing(&self.folder).unwrap_or_default();
        Evidence { commit, dirty, ..Evidence::default() }
    }

    /// Merges the work. What cannot be done now waits, with words.
    pub(super) fn merge(&self, how: policy::Merge, wanted: &dyn Fn() -> bool) -> Merged {
        self.terms.end_strays();
        let how = match how {
            policy::Merge::Ff => How::Ff,
            policy::Merge::Squash => How::Squash,
            policy::Merge::Rebase => How::Rebase,
            policy::Merge::None => {
                let reason = "the configuration says no more how it is to be merged";
                return Merged::Waits { reason: reason.to_owned() };
            }
        };
        let check = |at: &Path| {
            let checks = self.run_checks(at, "merge");
            Evidence { checks, ..Evidence::default() }
        };
        let check: Option<&dyn Fn(&Path) -> Evidence> =
            if self.checks.is_empty() { None } else { Some(&check) };
        let merge = Merge {
            task: &self.task.id,
            title: &self.task.title,
            attempt: self.attempt,
            how,
            setup: &self.setup,
            terms: &self.terms,
            check,
            wanted,
        };
        let merged = self.yard.merge(&merge);
        merged.unwrap_or_else(|Refused(reason)| Merged::Waits { reason })
    }

    /// Takes the work tree away.
    pub(super) fn tidy(&self) -> Result<Option<Saved>, Refused> {
        self.terms.end_strays();
        self.yard.tidy(&self.task.id, self.attempt)
    }

    /// Runs the checks, one after the other, until one fails.
    fn run_checks(&self, workspace: &Path, folder: &str) -> Vec<Check> {
        let mut done: Vec<Check> = Vec::new();
        for (number, line) in (1..).zip(&self.checks) {
            let check = self.run_check(line, workspace, &format!("{folder}/{number}.log"));
            let passed = check.passed();
            done.push(check);
            if !passed {
                break;
            }
        }
        done
    }

    fn run_check(&self, line: &str, workspace: &Path, log: &str) -> Check {
        let begun = Instant::now();
        let ran = self.terms.run(line, workspace);
        let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (exit, said) = match ran {
            Ok(ran) => (ran.exit(), format!("{}{}", ran.out, ran.err)),
            Err(error) => (Exit::NotStarted(error.to_string()), String::new()),
        };
        self.write_text(log, &said);
        let (command, log) = (line.to_owned(), log.to_owned());
        Check { command, exit, duration_ms, tail: tail(&said), log }
    }

    fn write(&self, name: &str, evidence: &Evidence) {
        let text = serde_json::to_string_pretty(&EvidenceWire::from(evidence));
        self.write_text(name, &text.unwrap_or_default());
    }

    /// Writes a paper of the attempt. What cannot be written is in the record all the same.
    fn write_text(&self, name: &str, text: &str) {
        let attempts = self.root.join("runs").join(self.task.id.as_str()).join("attempts");
        let path = attempts.join(self.attempt.to_string()).join(name);
        let write = || -> io::Result<()> {
            fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            fs::write(&path, text)
        };
        let _ = write();
    }
}

fn of_branch(settled: &Settled) -> Evidence {
    Evidence {
        branch: Some(settled.branch.clone()),
        base: Some(settled.base.clone()),
        commit: Some(settled.commit.clone()),
        changes: Some(settled.changes),
        flaw: settled.flaw.clone(),
        ..Evidence::default()
    }
}

pub(super) fn setup(config: &Config) -> Setup {
    let project = &config.project;
    Setup { copy: project.copy.clone(), commands: project.setup.clone() }
}

/// Returns by what everything that checks of a task started is known.
fn mark(root: &Path, task: &TaskId) -> String {
    format!("{}:{task}", root.display())
}

/// Returns the last lines of what was printed.
fn tail(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
    let over = last.chars().count().saturating_sub(TAIL_CHARS);
    last.chars().skip(over).collect()
}
