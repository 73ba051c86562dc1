//! Fuzz target: the files an executor leaves pass a step only if they state a pass.

use adjutant_core::story::claim::{ExecutorClaim, FoundHandOver, HandOverFiles, OtherStories};
use adjutant_core::story::judge::{
    PostCheckResult, RulesState, StepEvidence, StepProof, TestMeasurement,
};
use adjutant_core::story::{StepVerdict, StoryState, judge_step};
use adjutant_model::story::{Step, StepStatus};
use adjutant_stories::files::{hand_over, rules};

use crate::fixture::now;

/// Words that count as a pass; a passing file must contain one of them.
const PASSES: [&str; 5] = ["pass", "passing", "passed", "done", "complete"];

/// Neither file becomes a pass that the executor did not state.
pub fn story_paper(bytes: &[u8]) {
    for (result, handoff) in [
        (FoundHandOver::Missing, hand_over::parse_handoff(bytes)),
        (hand_over::parse_executor_result(bytes), FoundHandOver::Missing),
    ] {
        let mut state = StoryState::new("cart-app", None, Step::Bdd);
        state.status = StepStatus::Running;
        let (claim, _) = ExecutorClaim::find(
            &HandOverFiles::from_shared(&result, &handoff),
            &state,
            OtherStories::None,
        );
        let rules = rules::defaults();
        let evidence = StepEvidence {
            claim: &claim,
            measured: &TestMeasurement::NotNeeded,
            checked: &PostCheckResult::NotNeeded,
            proof: &StepProof::Given,
            rules: RulesState::Unchanged,
            at: now(),
        };
        let judged = judge_step(rules.get(Step::Bdd).expect("a rule"), &evidence);
        if judged.report.is_some_and(|report| report.verdict == StepVerdict::Pass) {
            let text = String::from_utf8_lossy(bytes).to_lowercase();
            assert!(PASSES.iter().any(|word| text.contains(word)) || text.contains('\\'));
            assert!(text.contains("status"), "only a status is a pass");
        }
    }
}
