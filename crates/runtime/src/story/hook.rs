//! The hook: what came of a step, measured and judged, written down once.

use std::time::{Duration, SystemTime};

use adjutant_core::pipeline::claim::{Claim, Others};
use adjutant_core::pipeline::judge::{Checked, Evidence, Measured, Ran};
use adjutant_core::pipeline::{
    Input, Refusal, Rule, Said, State, StoryId, Verdict, advance, judge,
};

use super::answer::Answer;
use super::project::{Found, Project, StoryError, is_busy, pick};
use crate::testrun::command::{TestCommand, find};
use crate::testrun::run::run;
use crate::testrun::{Counted, Format, count};

/// The exit code of a shell that did not find a command.
const NOT_FOUND: i32 = 127;

/// What is made of a step whose executor has left nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// The executor has ended: nothing left is a failure.
    Ended,
    /// The executor may still be at work: nothing left is nothing yet.
    IfHandedOver,
}

impl Project<'_> {
    /// Takes in what an executor left: runs the tests and the check, reads the papers, and writes
    /// the state once. The folder is not locked while the tests run.
    pub fn hook(&self, story: Option<&StoryId>, ask: Ask) -> Result<Answer, StoryError> {
        let all = self.all()?.sound(story)?;
        let slot = pick(&all, story)?.slot.clone();
        let _at_work = self.folder().lock_hook(&slot)?;
        let before = self.look(&slot)?;
        let Some(rule) = self.rules().of(before.file.state.step) else {
            return Ok(self.refused(before.file.state, Refusal::NotRunning));
        };
        if !is_busy(&before.file.state) || rule.requires_human {
            let decision = advance(self.rules(), &before.file.state, &self.nothing());
            return Ok(Answer::new(self.rules(), before.file.state, &decision.said));
        }
        if ask == Ask::IfHandedOver && self.claim(&before, &all)?.0 == Claim::Missing {
            return Ok(Answer::new(self.rules(), before.file.state, &Said::Nothing));
        }
        let measured = self.measure(rule, &before.file.state);
        let checked = self.check(rule);
        self.record(&before, rule, &measured, &checked)
    }

    fn record(
        &self,
        before: &Found,
        rule: &Rule,
        measured: &Measured,
        checked: &Checked,
    ) -> Result<Answer, StoryError> {
        let lock = self.folder().lock()?;
        let all = self.all()?.found;
        let now = self.look(&before.slot)?;
        if !is_same_run(&before.file.state, &now.file.state) {
            return Ok(self.refused(now.file.state, Refusal::NotRunning));
        }
        let (claim, mut warnings) = self.claim(&now, &all)?;
        let evidence = Evidence { claim: &claim, measured, checked, at: self.now() };
        let judged = judge(rule, &evidence);
        warnings.extend(judged.warnings);
        let Some(mut report) = judged.report else {
            let mut answer = Answer::new(self.rules(), now.file.state, &Said::Nothing);
            answer.result = "stale";
            answer.warnings = warnings;
            return Ok(answer);
        };
        if report.verdict == Verdict::Pass && self.folder().have_rules_changed(&now.file) {
            warnings.push("step-rules.yaml was changed while the executor was at work".to_owned());
            report.verdict = Verdict::Asked { reason: None };
        }
        let decision = advance(self.rules(), &now.file.state, &Input::Ended(report));
        self.put(&lock, &now.slot, &now.file, &decision.state)?;
        let mut answer = Answer::new(self.rules(), decision.state, &decision.said);
        answer.warnings = warnings;
        Ok(answer)
    }

    fn look(&self, slot: &adjutant_store::story::Slot) -> Result<Found, StoryError> {
        let file = self.folder().state(slot)?.ok_or(StoryError::NoStory)?;
        Ok(Found { slot: slot.clone(), file })
    }

    fn refused(&self, state: State, refusal: Refusal) -> Answer {
        Answer::new(self.rules(), state, &Said::Refused(refusal))
    }

    /// Says that an executor ended of which nothing is known; asked for why it would be refused.
    fn nothing(&self) -> Input {
        Input::Ended(adjutant_core::pipeline::Report {
            at: self.now(),
            verdict: Verdict::Unknown,
            tests: None,
            failing_tests: vec![],
            lint_pass: None,
            files_changed: vec![],
        })
    }

    fn claim(&self, found: &Found, all: &[Found]) -> Result<(Claim, Vec<String>), StoryError> {
        let papers = self.folder().papers(&found.slot, &found.file)?;
        let busy = |other: &Found| other.slot != found.slot && is_busy(&other.file.state);
        let others = if all.iter().any(busy) { Others::Running } else { Others::None };
        Ok(Claim::find(&papers, &found.file.state, others))
    }

    /// Runs the tests, where the step has any.
    fn measure(&self, rule: &Rule, state: &State) -> Measured {
        if !state.step.is_tested() || rule.requires_human {
            return Measured::NotNeeded;
        }
        let rules = self.rules();
        let own = rules.test_command.as_ref().map(|line| TestCommand {
            line: line.clone(),
            format: rules.test_format.as_deref().and_then(Format::parse),
        });
        match own.or_else(|| find(self.folder().root())) {
            Some(command) => self.run_tests(&command),
            None => Measured::NoCommand,
        }
    }

    fn run_tests(&self, command: &TestCommand) -> Measured {
        let began = SystemTime::now();
        let ran = match run(&command.line, self.folder().root(), self.limit()) {
            Ok(ran) => ran,
            Err(error) => return Measured::Broken(error.to_string()),
        };
        let report = self.report(began);
        let said = [report.as_deref(), Some(&*ran.out), Some(&*ran.err)];
        let counted = said.into_iter().flatten().find_map(|text| count(text, command.format));
        let counts = counted.clone().unwrap_or_default();
        match ran.status {
            None => Measured::TimedOut { tests: counts.tests, failing: counts.failing },
            Some(status) if status.code() == Some(NOT_FOUND) && counted.is_none() => {
                Measured::Broken(format!("{}: {}", command.line, ran.last_words()))
            }
            Some(status) => {
                let Counted { failing, .. } = counts;
                let tests = counted.map(|counted| counted.tests);
                Measured::Ran(Ran { tests, failing, success: status.success() })
            }
        }
    }

    /// Reads the report that the tests left in a file, if the project says where and it is new.
    fn report(&self, began: SystemTime) -> Option<String> {
        const SLACK: Duration = Duration::from_secs(2);
        let path = self.folder().root().join(self.rules().test_report.as_ref()?);
        let file = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
        let fresh = file.modified().is_ok_and(|time| time + SLACK >= began);
        if fresh { std::fs::read_to_string(path).ok() } else { None }
    }

    /// Runs the check after the step, where there is one that makes sense here.
    fn check(&self, rule: &Rule) -> Checked {
        let Some(line) = &rule.post_check else { return Checked::NotNeeded };
        let root = self.folder().root();
        if rule.post_check_needs.as_ref().is_some_and(|needs| !root.join(needs).exists()) {
            return Checked::NotNeeded;
        }
        match run(line, root, self.limit()) {
            Ok(ran) if ran.success() => Checked::Passed,
            Ok(ran) if ran.status.is_none() => Checked::Failed("it did not end in time".to_owned()),
            Ok(ran) => Checked::Failed(ran.last_words()),
            Err(error) => Checked::Failed(error.to_string()),
        }
    }

    fn limit(&self) -> Duration {
        Duration::from_mins(u64::from(self.rules().test_timeout_min.max(1)))
    }
}

fn is_same_run(before: &State, now: &State) -> bool {
    let key = |state: &State| {
        (state.story.clone(), state.step, state.attempt, state.status, state.dispatched_at)
    };
    key(before) == key(now)
}
