//! The hook that runs after an executor: it measures and judges the step, and writes
//! the result once.

use std::time::{Duration, SystemTime};

use adjutant_core::story::claim::{ExecutorClaim, OtherStories};
use adjutant_core::story::judge::{PostCheckResult, StepEvidence, TestMeasurement, TestRunResult};
use adjutant_core::story::{
    AdvanceResult, StepRule, StepVerdict, StoryInput, StoryRefusal, StoryState, advance_story,
    judge_step, report_refusal,
};
use adjutant_model::story::StoryId;
use adjutant_process::test_runner::limited_command::run;
use adjutant_process::test_runner::test_command::{TestCommand, find};
use adjutant_process::test_runner::{ParsedTestCounts, TestFormat, count};

use super::answer::{StoryCommandAnswer, StoryCommandResult};
use super::project::{StoryError, StoryProject};
use super::story_selection::select_story;
use crate::files::{FoundStory, StoryFiles};

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

impl StoryProject<'_> {
    /// Judges what an executor left: runs the tests and the check, reads the hand-over, and writes
    /// the state once. The folder is not locked while the tests run.
    pub fn hook(
        &self,
        story: Option<&StoryId>,
        trigger: HookTrigger,
    ) -> Result<StoryCommandAnswer, StoryError> {
        let mut files = self.folder().read_stories()?;
        let slot = select_story(&mut files, story)?.slot.clone();
        let _hook_lock = self.folder().lock_hook(&slot)?;
        // Another hook of the story may have recorded a result while this one waited.
        let file = self.folder().state(&slot)?.ok_or(StoryError::NoStory)?;
        let before = FoundStory { slot, file };
        let state = &before.file.state;
        let rule = match (report_refusal(self.rules(), state), self.rules().get(state.step)) {
            (None, Some(rule)) => rule,
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
        let measured = self.measure(rule, state);
        let checked = self.check(rule);
        self.record_result(&before, rule, &measured, &checked)
    }

    fn record_result(
        &self,
        before: &FoundStory,
        rule: &StepRule,
        measured: &TestMeasurement,
        checked: &PostCheckResult,
    ) -> Result<StoryCommandAnswer, StoryError> {
        let lock = self.folder().lock()?;
        // The tests took minutes: any story may have moved since, and the executor may have written
        // its hand-over again.
        let mut files = self.folder().read_stories()?;
        let now = files.take(&before.slot)?.ok_or(StoryError::NoStory)?;
        let state = &now.file.state;
        if !is_same_run(&before.file.state, state) {
            return Ok(self.refused_answer(now.file.state, StoryRefusal::NotRunning));
        }
        let (claim, mut warnings) = self.claim(&now, &files)?;
        let evidence = StepEvidence { claim: &claim, measured, checked, at: self.now() };
        let judged = judge_step(rule, &evidence);
        warnings.extend(judged.warnings);
        let mut answer = match judged.report {
            None => {
                let result = StoryCommandResult::StaleHandOver;
                StoryCommandAnswer::new(self.rules(), now.file.state, result)
            }
            Some(mut report) => {
                if report.verdict == StepVerdict::Pass
                    && self.folder().have_rules_changed(&now.file)
                {
                    let warning = "step-rules.yaml changed while the executor was working";
                    warnings.push(warning.to_owned());
                    report.verdict = StepVerdict::NeedsHuman { reason: None };
                }
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

    /// Runs the tests, if the step needs any.
    fn measure(&self, rule: &StepRule, state: &StoryState) -> TestMeasurement {
        if !state.step.is_tested() || rule.requires_human {
            return TestMeasurement::NotNeeded;
        }
        let rules = self.rules();
        let own = rules.test_command.as_ref().map(|line| TestCommand {
            line: line.clone(),
            format: rules.test_format.as_deref().and_then(TestFormat::parse),
        });
        match own.or_else(|| find(self.folder().root())) {
            Some(command) => self.run_tests(&command),
            None => TestMeasurement::NoCommand,
        }
    }

    fn run_tests(&self, command: &TestCommand) -> TestMeasurement {
        let began = SystemTime::now();
        let ran = match run(&command.line, self.folder().root(), self.test_timeout()) {
            Ok(ran) => ran,
            Err(error) => return TestMeasurement::Broken(error.to_string()),
        };
        let report = self.report(began);
        let outputs = [report.as_deref(), Some(&*ran.stdout), Some(&*ran.stderr)];
        let counted = outputs.into_iter().flatten().find_map(|text| count(text, command.format));
        let counts = counted.clone().unwrap_or_default();
        match ran.status {
            None => TestMeasurement::TimedOut { tests: counts.tests, failing: counts.failing },
            Some(status) if status.code() == Some(NOT_FOUND) && counted.is_none() => {
                TestMeasurement::Broken(format!("{}: {}", command.line, ran.last_lines()))
            }
            Some(status) => {
                let ParsedTestCounts { failing, .. } = counts;
                let tests = counted.map(|counted| counted.tests);
                TestMeasurement::Ran(TestRunResult { tests, failing, success: status.success() })
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
    fn check(&self, rule: &StepRule) -> PostCheckResult {
        let Some(line) = &rule.post_check else { return PostCheckResult::NotNeeded };
        let root = self.folder().root();
        if rule.post_check_needs.as_ref().is_some_and(|needs| !root.join(needs).exists()) {
            return PostCheckResult::NotNeeded;
        }
        match run(line, root, self.test_timeout()) {
            Ok(ran) if ran.is_success() => PostCheckResult::Passed,
            Ok(ran) if ran.status.is_none() => PostCheckResult::Failed("it timed out".to_owned()),
            Ok(ran) => PostCheckResult::Failed(ran.last_lines()),
            Err(error) => PostCheckResult::Failed(error.to_string()),
        }
    }

    fn test_timeout(&self) -> Duration {
        Duration::from_mins(u64::from(self.rules().test_timeout_min.max(1)))
    }
}

fn is_same_run(before: &StoryState, now: &StoryState) -> bool {
    let key = |state: &StoryState| {
        (state.story.clone(), state.step, state.attempt, state.status, state.dispatched_at)
    };
    key(before) == key(now)
}
