//! What an executor leaves: a pass must have been said.

use adjutant_core::pipeline::claim::{Claim, Found, Others, Papers};
use adjutant_core::pipeline::judge::{Checked, Evidence, Measured};
use adjutant_core::pipeline::{State, Status, Step, Verdict, judge};
use adjutant_store::story::{paper, rules};

use crate::given::now;

/// Words that are a pass; one of them must be there.
const PASSES: [&str; 5] = ["pass", "passing", "passed", "done", "complete"];

/// Neither paper becomes a pass that nobody claimed.
pub fn story_paper(bytes: &[u8]) {
    for (result, handoff) in
        [(Found::Nothing, paper::handoff(bytes)), (paper::result(bytes), Found::Nothing)]
    {
        let mut state = State::begin("cart-app", None, Step::Bdd);
        state.status = Status::Running;
        let (claim, _) = Claim::find(&Papers::shared(&result, &handoff), &state, Others::None);
        let rules = rules::defaults();
        let evidence = Evidence {
            claim: &claim,
            measured: &Measured::NotNeeded,
            checked: &Checked::NotNeeded,
            at: now(),
        };
        let judged = judge(rules.of(Step::Bdd).expect("a rule"), &evidence);
        if judged.report.is_some_and(|report| report.verdict == Verdict::Pass) {
            let text = String::from_utf8_lossy(bytes).to_lowercase();
            assert!(PASSES.iter().any(|word| text.contains(word)) || text.contains('\\'));
            assert!(text.contains("status"), "only a status is a pass");
        }
    }
}
