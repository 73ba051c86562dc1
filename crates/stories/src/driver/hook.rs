//! The hook that runs after an executor: it measures and judges the step, and writes
//! the result once.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use adjutant_config::SharedConfig;
use adjutant_core::story::claim::{ExecutorClaim, OtherStories};
use adjutant_core::story::judge::{
    PostCheckResult, RulesState, StepEvidence, TestMeasurement, TestRunResult,
};
use adjutant_core::story::{
    AdvanceResult, StepRule, StoryInput, StoryRefusal, StoryState, advance_story, judge_step,
    report_refusal,
};
use adjutant_model::run::RunExit;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::story::StoryId;
use adjutant_process::test_runner::limited_command::CommandResult;
use adjutant_process::test_runner::test_command::{TestCommand, find};
use adjutant_process::test_runner::{TestFormat, count};
use adjutant_run_files::run_ref::attempt_folder;
use adjutant_runs::check_command::CheckRunner;

use super::answer::{StoryCommandAnswer, StoryCommandResult};
use super::project::{StoryError, StoryProject};
use super::story_selection::select_story;
use crate::files::{FoundStory, StateFile, StoryFiles};

/// The exit code of a shell that did not find a command.
const NOT_FOUND: i32 = 127;

/// How a missing hand-over is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookTrigger {
    /// The executor has ended: a missing hand-over is a failure.
    ExecutorEnded,
    /// The executor may still be running: a missing hand-over means nothing yet.
    IfHandedOver,
}

/// How the tests and the check of a step are run.
#[derive(Debug, Clone)]
pub struct StepChecks {
    /// The program that has the command `check-shim`.
    program: PathBuf,
    config: SharedConfig,
    /// The data folder, which has the folders of runs; `None` if the project has none.
    data: Option<PathBuf>,
    rules: RulesState,
}

impl StepChecks {
    /// Makes the checks of a project; `data` is its data folder, if it has one.
    pub fn new(program: PathBuf, data: Option<&Path>, config: SharedConfig) -> Self {
        Self { program, config, data: data.map(Path::to_owned), rules: RulesState::Unchanged }
    }

    /// Notes what is known about the rules besides what the state of the story says.
    #[must_use]
    pub(crate) fn with_rules_state(self, rules: RulesState) -> Self {
        Self { rules, ..self }
    }

    /// Returns what runs the commands for a step: inside its run and confined like it, if a run
    /// does the step.
    fn runner_for(&self, file: &StateFile) -> CheckRunner {
        let (program, data) = (self.program.clone(), self.data.as_deref());
        let runner = CheckRunner::new(program, data, &self.config.get());
        let Some((run, data)) = file.step_run().zip(self.data.as_ref()) else { return runner };
        let attempt = attempt_folder(data, &run.task, run.attempt);
        let runner = runner.with_subject(&run.task, attempt.path(), run.fence);
        runner.confined_like_run(&attempt, SandboxLevel::None)
    }
}

impl StoryProject<'_> {
    /// Judges what an executor left: runs the tests and the check, reads the hand-over, and writes
    /// the state once. The folder is not locked while the tests run. Nothing is run if the rules
    /// changed while the executor was working.
    pub fn hook(
        &self,
        story: Option<&StoryId>,
        trigger: HookTrigger,
        checks: &StepChecks,
    ) -> Result<StoryCommandAnswer, StoryError> {
        let mut files = self.read_stories()?;
        let slot = select_story(&mut files, story)?.slot.clone();
        let _hook_lock = self.folder().lock_hook(&slot)?;
        // Another hook of the story may have recorded a result while this one waited.
        let before = self.read_stories()?.take(&slot)?.ok_or(StoryError::NoStory)?;
        let state = &before.file.state;
        let rule = match (report_refusal(self.rules(), state), self.rules().get(state.step)) {
            (None, Some(rule)) => rule,
            // A hook of a program that calls it again and again, as after every turn.
            _ if trigger == HookTrigger::IfHandedOver => {
                let state = before.file.state;
                return Ok(StoryCommandAnswer::new(self.rules(), state, AdvanceResult::Nothing));
            }
            (refusal, _) => {
                let refusal = refusal.unwrap_or(StoryRefusal::NotRunning);
                return Ok(self.refused_answer(before.file.state, refusal));
            }
        };
        if trigger == HookTrigger::IfHandedOver
            && self.claim(&before, &files)?.0 == ExecutorClaim::Missing
        {
            let state = before.file.state;
            return Ok(StoryCommandAnswer::new(self.rules(), state, AdvanceResult::Nothing));
        }
        let (measured, checked) = match self.rules_state(&before.file, checks) {
            RulesState::Changed(_) => (TestMeasurement::NotNeeded, PostCheckResult::NotNeeded),
            RulesState::Unchanged => {
                self.require_accepted(rule, &before.file)?;
                let runner = checks.runner_for(&before.file).with_timeout(self.test_timeout());
                // The hook's lock is held, so what is left is of a hook that was killed.
                runner.end_earlier();
                (self.measure(rule, &before.file, &runner), self.check(rule, &runner))
            }
        };
        self.record_result(&before, rule, &measured, &checked, checks)
    }

    /// Fails if the step would run a command that the operator has not accepted: of the rules, or of
    /// the state file, which has the test command that was found when the executor was started.
    fn require_accepted(&self, rule: &StepRule, file: &StateFile) -> Result<(), StoryError> {
        let of_state = file.test_command_before().map(|command| command.line);
        let rules = [rule.post_check.clone(), self.rules().test_command.clone(), of_state];
        let is_unaccepted = |line: &String| !self.trust().allows_command(line);
        let unaccepted: Vec<String> = rules.into_iter().flatten().filter(is_unaccepted).collect();
        if unaccepted.is_empty() { Ok(()) } else { Err(StoryError::UnacceptedRules(unaccepted)) }
    }

    fn rules_state(&self, file: &StateFile, checks: &StepChecks) -> RulesState {
        match &checks.rules {
            RulesState::Unchanged if self.folder().have_rules_changed(file) => {
                RulesState::Changed("step-rules.yaml".to_owned())
            }
            rules @ (RulesState::Unchanged | RulesState::Changed(_)) => rules.clone(),
        }
    }

    fn record_result(
        &self,
        before: &FoundStory,
        rule: &StepRule,
        measured: &TestMeasurement,
        checked: &PostCheckResult,
        checks: &StepChecks,
    ) -> Result<StoryCommandAnswer, StoryError> {
        let lock = self.folder().lock()?;
        // The tests took minutes: any story may have moved since, and the executor may have written
        // its hand-over again.
        let mut files = self.read_stories()?;
        let now = files.take(&before.slot)?.ok_or(StoryError::NoStory)?;
        let state = &now.file.state;
        if !is_same_run(&before.file.state, state) {
            return Ok(self.refused_answer(now.file.state, StoryRefusal::NotRunning));
        }
        let (claim, mut warnings) = self.claim(&now, &files)?;
        // The tests may have changed the rules too.
        let rules = self.rules_state(&now.file, checks);
        let proof = &self.step_proof(rule, &now.file);
        let at = self.now();
        let evidence = StepEvidence { claim: &claim, measured, checked, proof, rules, at };
        let judged = judge_step(rule, &evidence);
        warnings.extend(judged.warnings);
        let mut answer = match judged.report {
            None => {
                let result = StoryCommandResult::StaleHandOver;
                StoryCommandAnswer::new(self.rules(), now.file.state, result)
            }
            Some(report) => {
                let decision = advance_story(self.rules(), state, &StoryInput::Ended(report));
                self.write_state(&lock, &now.slot, &now.file, &decision.state)?;
                StoryCommandAnswer::new(self.rules(), decision.state, decision.result)
            }
        };
        answer.warnings = warnings;
        Ok(answer)
    }

    fn refused_answer(&self, state: StoryState, refusal: StoryRefusal) -> StoryCommandAnswer {
        StoryCommandAnswer::new(self.rules(), state, AdvanceResult::Refused(refusal))
    }

    /// Returns what the executor claims, and warnings about its hand-overs.
    fn claim(
        &self,
        found: &FoundStory,
        files: &StoryFiles,
    ) -> Result<(ExecutorClaim, Vec<String>), StoryError> {
        let hand_overs = self.folder().read_hand_overs(&found.slot, &found.file)?;
        let is_other_busy = files.has_other_busy(&found.slot);
        let others = if is_other_busy { OtherStories::Running } else { OtherStories::None };
        Ok(ExecutorClaim::find(&hand_overs, &found.file.state, others))
    }

    /// Runs the tests, if the step needs any. The command is the one of the rules, else the one
    /// that was found when the executor was started: files that an executor adds must not choose it.
    fn measure(&self, rule: &StepRule, file: &StateFile, runner: &CheckRunner) -> TestMeasurement {
        if !file.state.step.is_tested() || rule.requires_human {
            return TestMeasurement::NotNeeded;
        }
        let rules = self.rules();
        let own = rules.test_command.as_ref().map(|line| TestCommand {
            line: line.clone(),
            format: rules.test_format.as_deref().and_then(TestFormat::parse),
        });
        let own = own.or_else(|| file.test_command_before());
        match own.or_else(|| find(self.folder().root())) {
            Some(command) => self.run_tests(&command, runner),
            None => TestMeasurement::NoCommand,
        }
    }

    fn run_tests(&self, command: &TestCommand, runner: &CheckRunner) -> TestMeasurement {
        let began = SystemTime::now();
        let ran = match runner.run(&command.line, self.folder().root(), &[]) {
            Ok(ran) => ran,
            Err(error) => return TestMeasurement::Broken(error.to_string()),
        };
        let report = self.report(began);
        let outputs = [report.as_deref(), Some(&*ran.stdout), Some(&*ran.stderr)];
        let counted = outputs.into_iter().flatten().find_map(|text| count(text, command.format));
        match ran.exit {
            RunExit::TimedOut => TestMeasurement::TimedOut(command.line.clone()),
            RunExit::Code(NOT_FOUND) if counted.is_none() => {
                TestMeasurement::Broken(format!("{}: {}", command.line, ran.last_lines()))
            }
            _ => {
                let tests = counted.as_ref().map(|counted| counted.tests);
                let failing = counted.map(|counted| counted.failing).unwrap_or_default();
                let failure = (!ran.is_success()).then(|| describe_failure(&command.line, &ran));
                TestMeasurement::Ran(TestRunResult { tests, failing, failure })
            }
        }
    }

    /// Reads the test report file, if the rules name one and it is new.
    fn report(&self, began: SystemTime) -> Option<String> {
        const SLACK: Duration = Duration::from_secs(2);
        let path = self.folder().root().join(self.rules().test_report.as_ref()?);
        let file = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
        let fresh = file.modified().is_ok_and(|time| time + SLACK >= began);
        if fresh { std::fs::read_to_string(path).ok() } else { None }
    }

    /// Runs the step's check, if there is one and the file it needs exists.
    fn check(&self, rule: &StepRule, runner: &CheckRunner) -> PostCheckResult {
        let Some(line) = &rule.post_check else { return PostCheckResult::NotNeeded };
        let root = self.folder().root();
        if rule.post_check_needs.as_ref().is_some_and(|needs| !root.join(needs).exists()) {
            return PostCheckResult::NotNeeded;
        }
        match runner.run(line, root, &[]) {
            Ok(ran) if ran.is_success() => PostCheckResult::Passed,
            Ok(ran) => PostCheckResult::Failed(describe_failure(line, &ran)),
            Err(error) => PostCheckResult::Failed(format!("{line}: {error}")),
        }
    }

    fn test_timeout(&self) -> Duration {
        Duration::from_mins(u64::from(self.rules().test_timeout_min.max(1)))
    }
}

/// Describes how a command failed: the command, its exit, and its last lines of output, if any.
fn describe_failure(line: &str, ran: &CommandResult) -> String {
    let output = ran.last_lines();
    let gap = if output.is_empty() { "" } else { "\n" };
    format!("{line} ({}){gap}{output}", ran.exit.in_words())
}

fn is_same_run(before: &StoryState, now: &StoryState) -> bool {
    let key = |state: &StoryState| {
        (state.story.clone(), state.step, state.attempt, state.status, state.dispatched_at)
    };
    key(before) == key(now)
}
