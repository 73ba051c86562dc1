//! Checks the work of a run and merges approved work: everything that needs git, a shell and time.

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, io};

use adjutant_config::{Config, Sandbox};
use adjutant_git::worktree::{
    CommittedWork, MergeMethod, MergeRequest, PreparedWorktree, SavedWork, WorktreeError,
    WorktreeSetup, Worktrees,
};
use adjutant_model::evidence::{CheckResult, WorkEvidence};
use adjutant_model::policy::Policy;
use adjutant_model::run::RunExit;
use adjutant_model::work::MergeResult;
use adjutant_model::{Task, TaskId};
use adjutant_process::test_runner::limited_command::CommandLimits;
use adjutant_run_files::attempt_files::EVIDENCE_FILE;

use crate::run_manager::CheckedWork;

/// The folder with the output of each check, in the folder of the attempt.
const CHECKS_FOLDER: &str = "checks";

/// How much of a check's output goes into the evidence.
const TAIL_LINES: usize = 20;
const TAIL_CHARS: usize = 2_000;

/// The input of every job on a task's work.
#[derive(Clone)]
pub(super) struct WorkJob {
    pub(super) yard: Worktrees,
    pub(super) root: PathBuf,
    pub(super) task: Task,
    pub(super) agent: String,
    pub(super) attempt: u32,
    /// Whether the task has its own branch and worktree.
    pub(super) on_branch: bool,
    /// Whether the agent runs in a sandbox.
    pub(super) confined: bool,
    /// The folder that the agent works in if the task has no worktree.
    pub(super) folder: PathBuf,
    pub(super) checks: Vec<String>,
    pub(super) setup: WorktreeSetup,
    pub(super) terms: CommandLimits,
}

impl WorkJob {
    /// Returns the input for a task; `None` if no run has worked on it.
    pub(super) fn for_task(
        task: &Task,
        (root, home): (&Path, &Path),
        config: &Config,
        policy: &Policy,
        terms: CommandLimits,
    ) -> Option<Self> {
        let lease = task.lease().map(|lease| (lease.agent.clone(), lease.attempt));
        let last = || task.last_run.as_ref().map(|run| (run.agent.clone(), run.attempt));
        let (agent, attempt) = lease.or_else(last)?;
        let inner = config.agent(&agent).and_then(|agent| agent.workspace.clone());
        let on_branch = policy.is_on_branch(task);
        let folder = inner.filter(|_| !on_branch).map_or(home.to_owned(), |inner| home.join(inner));
        Some(Self {
            yard: Worktrees::new(root, home, config.project.base.clone()),
            root: root.to_owned(),
            task: task.clone(),
            agent: agent.to_string(),
            attempt,
            on_branch,
            confined: config.agent(&agent).is_some_and(|agent| agent.sandbox == Sandbox::Landlock),
            folder,
            checks: policy.checks_of(task).iter().map(ToString::to_string).collect(),
            setup: worktree_setup(config),
            terms: CommandLimits { mark: Some(process_marker(root, &task.id)), ..terms },
        })
    }

    /// Prepares the worktree for a run. Uncommitted files in it are saved as those of
    /// the attempt before.
    pub(super) fn prepare_worktree(&self, attempt: u32) -> Result<PreparedWorktree, WorktreeError> {
        self.terms.kill_strays();
        let last = attempt.saturating_sub(1);
        let ready = self.yard.prepare(&self.task.id, last, &self.setup, &self.terms)?;
        let git =
            self.confined.then(|| self.yard.create_private_git_dir(&self.task.id)).transpose()?;
        Ok(PreparedWorktree { git, ..ready })
    }

    /// Commits the work of a run, runs the checks, and writes the evidence.
    pub(super) fn check_work(&self) -> CheckedWork {
        self.terms.kill_strays();
        let (evidence, saved, workspace) = match self.on_branch.then(|| self.commit_work()) {
            Some(Ok(settled)) => {
                let workspace = self.yard.workspace(&self.task.id);
                (branch_evidence(&settled), settled.saved, workspace)
            }
            Some(Err(WorktreeError(why))) => {
                let evidence = WorkEvidence { flaw: Some(why), ..WorkEvidence::default() };
                (evidence, None, None)
            }
            None => (self.folder_evidence(), None, Some(self.folder.clone())),
        };
        let checks = workspace.map(|at| self.run_checks(&at, CHECKS_FOLDER)).unwrap_or_default();
        let evidence = WorkEvidence { checks, ..evidence };
        if self.on_branch && evidence.flaw.is_none() {
            // Files that checks left are not part of the work. If they cannot be removed, they
            // are saved later.
            let _ = self.yard.reset_to_branch(&self.task.id);
        }
        self.write_evidence(EVIDENCE_FILE, &evidence);
        CheckedWork { evidence, saved }
    }

    fn commit_work(&self) -> Result<CommittedWork, WorktreeError> {
        self.yard.commit_work(&self.task.id, &self.task.title, &self.agent, self.attempt)
    }

    fn folder_evidence(&self) -> WorkEvidence {
        let (commit, dirty) = self.yard.head_and_dirty(&self.folder).unwrap_or_default();
        WorkEvidence { commit, dirty, ..WorkEvidence::default() }
    }

    /// Merges the work. A merge that cannot be done now returns `Merged::Waits` with the reason.
    pub(super) fn merge(
        &self,
        how: adjutant_model::merge_mode::MergeMode,
        wanted: &dyn Fn() -> bool,
    ) -> MergeResult {
        self.terms.kill_strays();
        let how = match how {
            adjutant_model::merge_mode::MergeMode::Ff => MergeMethod::Ff,
            adjutant_model::merge_mode::MergeMode::Squash => MergeMethod::Squash,
            adjutant_model::merge_mode::MergeMode::Rebase => MergeMethod::Rebase,
            adjutant_model::merge_mode::MergeMode::None => {
                let reason = "the configuration no longer has a merge method for it";
                return MergeResult::Waits { reason: reason.to_owned() };
            }
        };
        let check = |at: &Path| {
            let checks = self.run_checks(at, "merge");
            WorkEvidence { checks, ..WorkEvidence::default() }
        };
        let check: Option<&dyn Fn(&Path) -> WorkEvidence> =
            if self.checks.is_empty() { None } else { Some(&check) };
        let merge = MergeRequest {
            task: &self.task.id,
            title: &self.task.title,
            attempt: self.attempt,
            method: how,
            setup: &self.setup,
            limits: &self.terms,
            check,
            is_wanted: wanted,
        };
        let merged = self.yard.merge(&merge);
        merged.unwrap_or_else(|WorktreeError(reason)| MergeResult::Waits { reason })
    }

    pub(super) fn remove_worktree(&self) -> Result<Option<SavedWork>, WorktreeError> {
        self.terms.kill_strays();
        self.yard.remove(&self.task.id, self.attempt)
    }

    /// Runs the checks in order, and stops at the first that fails.
    fn run_checks(&self, workspace: &Path, folder: &str) -> Vec<CheckResult> {
        let mut done: Vec<CheckResult> = Vec::new();
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

    fn run_check(&self, line: &str, workspace: &Path, log: &str) -> CheckResult {
        let begun = Instant::now();
        let ran = self.terms.run(line, workspace);
        let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (exit, said) = match ran {
            Ok(ran) => (ran.exit(), format!("{}{}", ran.stdout, ran.stderr)),
            Err(error) => (RunExit::NotStarted(error.to_string()), String::new()),
        };
        self.write_attempt_file(log, &said);
        let (command, log) = (line.to_owned(), log.to_owned());
        CheckResult { command, exit, duration_ms, tail: tail(&said), log }
    }

    fn write_evidence(&self, name: &str, evidence: &WorkEvidence) {
        let text = serde_json::to_string_pretty(evidence);
        self.write_attempt_file(name, &text.unwrap_or_default());
    }

    /// Writes a file into the attempt's folder. An error is ignored, because the event log has the
    /// evidence as well.
    fn write_attempt_file(&self, name: &str, text: &str) {
        let attempts = self.root.join("runs").join(self.task.id.as_str()).join("attempts");
        let path = attempts.join(self.attempt.to_string()).join(name);
        let write = || -> io::Result<()> {
            fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            fs::write(&path, text)
        };
        let _ = write();
    }
}

fn branch_evidence(settled: &CommittedWork) -> WorkEvidence {
    WorkEvidence {
        branch: Some(settled.branch.clone()),
        base: Some(settled.base.clone()),
        commit: Some(settled.commit.clone()),
        changes: Some(settled.changes),
        flaw: settled.problem.clone(),
        ..WorkEvidence::default()
    }
}

pub(super) fn worktree_setup(config: &Config) -> WorktreeSetup {
    let project = &config.project;
    WorktreeSetup { copy: project.copy.clone(), commands: project.setup.clone() }
}

/// Returns the marker that identifies the processes started by checks of a task.
fn process_marker(root: &Path, task: &TaskId) -> String {
    format!("{}:{task}", root.display())
}

fn tail(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
    let over = last.chars().count().saturating_sub(TAIL_CHARS);
    last.chars().skip(over).collect()
}
