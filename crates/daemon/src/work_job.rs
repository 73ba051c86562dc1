//! Checks the work of a run and merges approved work: everything that needs git, a shell and time.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use adjutant_config::{Agent, Config};
use adjutant_core::protected_paths::protected_files;
use adjutant_git::worktree::{
    CommittedWork, MergeMethod, MergeRequest, PreparedWorktree, SavedWork, WorktreeError,
    WorktreeSetup, Worktrees,
};
use adjutant_model::Task;
use adjutant_model::evidence::{CheckResult, WorkEvidence};
use adjutant_model::policy::Policy;
use adjutant_model::run::RunExit;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::work::MergeResult;
use adjutant_process::atomic_file::write_private;
use adjutant_process::test_runner::limited_command::CommandResult;
use adjutant_run_files::attempt_files::EVIDENCE_FILE;
use adjutant_run_files::run_ref::attempt_folder;
use adjutant_runs::check_command::CheckRunner;

use super::sandboxed_run::{resolve_path, resolve_writable_path};
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
    /// The sandbox that the agent is configured with.
    pub(super) sandbox: SandboxLevel,
    /// The paths that the agent may write to besides its workspace.
    pub(super) writable: Vec<PathBuf>,
    /// The folder that the agent works in if the task has no worktree.
    pub(super) folder: PathBuf,
    pub(super) checks: Vec<String>,
    pub(super) setup: WorktreeSetup,
    pub(super) teardown: Vec<String>,
    /// Runs commands that judge no run, inside the last run of the task.
    pub(super) runner: CheckRunner,
}

impl WorkJob {
    /// Returns the input for a task; `None` if no run has worked on it.
    pub(super) fn for_task(
        task: &Task,
        (root, home): (&Path, &Path),
        config: &Config,
        policy: &Policy,
        runner: CheckRunner,
    ) -> Option<Self> {
        let lease = task.lease().map(|lease| (lease.agent.clone(), lease.attempt, lease.fence));
        let last = || task.last_run.as_ref().map(|run| (run.agent.clone(), run.attempt, run.fence));
        let (agent, attempt, fence) = lease.or_else(last)?;
        let settings = config.agent(&agent);
        let attempt_at = attempt_folder(root, &task.id, attempt);
        let inner = config.agent(&agent).and_then(|agent| agent.workspace.clone());
        let on_branch = policy.is_on_branch(task);
        let folder = inner.filter(|_| !on_branch).map_or(home.to_owned(), |inner| home.join(inner));
        let yard = Worktrees::new(root, home, config.project.base.clone());
        let readable = settings.map(readable_paths).unwrap_or_default().into_iter();
        // Git in a worktree reads the repository.
        let readable = readable.chain(yard.common_dir().filter(|_| on_branch)).collect();
        Some(Self {
            yard,
            root: root.to_owned(),
            task: task.clone(),
            agent: agent.to_string(),
            attempt,
            on_branch,
            sandbox: settings.map_or(SandboxLevel::None, Agent::sandbox_level),
            writable: settings.map(|agent| writable_paths(agent, root)).unwrap_or_default(),
            folder,
            checks: policy.checks_of(task).iter().map(ToString::to_string).collect(),
            setup: worktree_setup(config),
            teardown: config.project.teardown.clone(),
            runner: runner.with_subject(&task.id, attempt_at.path(), fence).with_readable(readable),
        })
    }

    /// Prepares the worktree for a run. Uncommitted files in it are saved as those of
    /// the attempt before.
    pub(super) fn prepare_worktree(&self, attempt: u32) -> Result<PreparedWorktree, WorktreeError> {
        self.runner.end_earlier();
        let last = attempt.saturating_sub(1);
        // The setup is confined like the run that it prepares.
        let runner = self.runner.clone().confined_as(self.sandbox);
        let run_setup = |line: &str, folder: &Path, tree: &Path| {
            self.run_command(&runner, line, folder, Some(tree))
        };
        let ready = self.yard.prepare(&self.task.id, last, &self.setup, &run_setup)?;
        let confined = self.sandbox != SandboxLevel::None;
        let git = confined.then(|| self.yard.create_private_git_dir(&self.task.id)).transpose()?;
        Ok(PreparedWorktree { git, ..ready })
    }

    /// Runs a command that may execute what the agent wrote. The folder lies in the worktree `tree`.
    fn run_command(
        &self,
        runner: &CheckRunner,
        line: &str,
        folder: &Path,
        tree: Option<&Path>,
    ) -> io::Result<CommandResult> {
        let tree = tree.map(Path::to_owned);
        let writable: Vec<PathBuf> = self.writable.iter().cloned().chain(tree).collect();
        runner.run(line, folder, &writable)
    }

    /// Commits the work of a run, runs the checks, and writes the evidence.
    pub(super) fn check_work(&self) -> CheckedWork {
        self.runner.end_earlier();
        let (evidence, saved, workspace) = match self.on_branch.then(|| self.commit_work()) {
            Some(Ok(settled)) => {
                let workspace = self.yard.workspace(&self.task.id);
                (branch_evidence(&settled), settled.saved, workspace)
            }
            Some(Err(WorktreeError(why))) => {
                let evidence =
                    WorkEvidence { flaw: Some(why), unsettled: true, ..WorkEvidence::default() };
                (evidence, None, None)
            }
            None => (self.folder_evidence(), None, Some(self.folder.clone())),
        };
        let attempt = attempt_folder(&self.root, &self.task.id, self.attempt);
        let runner = self.runner.clone().confined_like_run(&attempt, self.sandbox);
        let checks = workspace.map(|at| self.run_checks(&runner, &at, CHECKS_FOLDER));
        let checks = checks.unwrap_or_default();
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
        self.runner.end_earlier();
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
            let checks = self.run_checks(&self.runner, at, "merge");
            WorkEvidence { checks, ..WorkEvidence::default() }
        };
        let check: Option<&dyn Fn(&Path) -> WorkEvidence> =
            if self.checks.is_empty() { None } else { Some(&check) };
        let run_setup = |line: &str, folder: &Path, tree: &Path| {
            self.run_command(&self.runner, line, folder, Some(tree))
        };
        let allowed = self.task.history.work.as_ref().map_or(&[][..], |work| &work.allowed);
        let refusal = |files: &[String]| {
            let is_allowed = |file: &String| allowed.iter().any(|allowed| **allowed == **file);
            let mut others = protected_files(files.iter().map(String::as_str));
            others.retain(|file| !is_allowed(file));
            (!others.is_empty()).then(|| {
                let files = others.join(", ");
                format!("it changes protected paths that were not allowed in review: {files}")
            })
        };
        let merge = MergeRequest {
            task: &self.task.id,
            title: &self.task.title,
            attempt: self.attempt,
            method: how,
            setup: &self.setup,
            run_setup: &run_setup,
            refusal: &refusal,
            check,
            is_wanted: wanted,
        };
        let merged = self.yard.merge(&merge);
        merged.unwrap_or_else(|WorktreeError(reason)| MergeResult::Waits { reason })
    }

    pub(super) fn remove_worktree(&self) -> Result<Option<SavedWork>, WorktreeError> {
        self.runner.end_earlier();
        // The teardown is confined like the run whose work it removes.
        let runner = self.runner.clone().confined_as(self.sandbox);
        self.yard.remove_after(&self.task.id, self.attempt, &|folder, tree| {
            for (number, line) in (1..).zip(&self.teardown) {
                self.run_teardown(&runner, line, folder, tree, number);
            }
        })
    }

    /// Runs a command of the teardown, and keeps its output. A failure does not stop the removal.
    fn run_teardown(
        &self,
        runner: &CheckRunner,
        line: &str,
        folder: &Path,
        tree: &Path,
        number: u32,
    ) {
        let text = match self.run_command(runner, line, folder, Some(tree)) {
            Ok(ran) => format!("`{line}`: {}\n{}{}", ran.exit_text(), ran.stdout, ran.stderr),
            Err(error) => format!("`{line}` cannot be run: {error}\n"),
        };
        self.write_attempt_file(&format!("teardown/{number}.log"), &text);
    }

    /// Runs the checks in order, and stops at the first that fails.
    fn run_checks(&self, runner: &CheckRunner, workspace: &Path, folder: &str) -> Vec<CheckResult> {
        let mut done: Vec<CheckResult> = Vec::new();
        for (number, line) in (1..).zip(&self.checks) {
            let log = format!("{folder}/{number}.log");
            let check = self.run_check(runner, line, workspace, &log);
            let passed = check.passed();
            done.push(check);
            if !passed {
                break;
            }
        }
        done
    }

    fn run_check(
        &self,
        runner: &CheckRunner,
        line: &str,
        workspace: &Path,
        log: &str,
    ) -> CheckResult {
        let begun = Instant::now();
        let tree = self.on_branch.then(|| self.yard.worktree_path(&self.task.id));
        let ran = self.run_command(runner, line, workspace, tree.as_deref());
        let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (exit, said) = match ran {
            Ok(ran) => (ran.exit.clone(), format!("{}{}", ran.stdout, ran.stderr)),
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
        let _ = write_private(&path, text.as_bytes());
    }
}

fn branch_evidence(settled: &CommittedWork) -> WorkEvidence {
    WorkEvidence {
        branch: Some(settled.branch.clone()),
        base: Some(settled.base.clone()),
        commit: Some(settled.commit.clone()),
        changes: Some(settled.changes),
        protected: protected_files(settled.files.iter().map(String::as_str)),
        flaw: settled.problem.clone(),
        ..WorkEvidence::default()
    }
}

pub(super) fn worktree_setup(config: &Config) -> WorktreeSetup {
    let project = &config.project;
    WorktreeSetup { copy: project.copy.clone(), commands: project.setup.clone() }
}

/// Returns the paths that a sandboxed agent may write to besides its workspace. A check does without
/// those that are missing.
fn writable_paths(agent: &Agent, root: &Path) -> Vec<PathBuf> {
    agent.sandbox_write.iter().filter_map(|path| resolve_writable_path(path, root).ok()).collect()
}

/// Returns the paths that a sandboxed agent may read besides its workspace.
fn readable_paths(agent: &Agent) -> Vec<PathBuf> {
    agent.sandbox_read.iter().filter_map(|path| resolve_path("sandbox_read", path).ok()).collect()
}

fn tail(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
    let over = last.chars().count().saturating_sub(TAIL_CHARS);
    last.chars().skip(over).collect()
}
