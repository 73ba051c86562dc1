//! Hand-overs in every form seen in practice: none counts as a pass that should not.

use std::fs;
use std::path::Path;

use adjutant_core::story::claim::{ExecutorClaim, FoundHandOver, HandOverFiles, OtherStories};
use adjutant_core::story::judge::{
    PostCheckResult, RulesState, StepEvidence, StepProof, TestMeasurement,
};
use adjutant_core::story::{StepVerdict, StoryInput, StoryState, advance_story, judge_step};
use adjutant_model::Time;
use adjutant_model::story::{Step, StepStatus, StoryId};
use adjutant_stories::files::hand_over::{parse_executor_result, parse_handoff};
use adjutant_stories::files::{StateFile, StateSlot, StoryFolder, rules};

fn running() -> StoryState {
    let story = StoryId::parse("US-005").expect("a name");
    let mut state = StoryState::new("cart-app", Some(story), Step::Impl);
    state.status = StepStatus::Running;
    state.attempt = 2;
    state.dispatched_at = Some(Time::from_millis(0));
    state
}

/// Returns the verdict of a hook without tests on these hand-overs.
fn verdict(result: &FoundHandOver, handoff: &FoundHandOver) -> String {
    let (claim, _) = ExecutorClaim::find(
        &HandOverFiles::from_shared(result, handoff),
        &running(),
        OtherStories::None,
    );
    let rules = rules::defaults();
    let evidence = StepEvidence {
        claim: &claim,
        measured: &TestMeasurement::NoCommand,
        checked: &PostCheckResult::NotNeeded,
        proof: &StepProof::Given,
        rules: RulesState::Unchanged,
        at: Time::from_millis(0),
    };
    let judged = judge_step(rules.get(Step::Impl).expect("a rule"), &evidence);
    match judged.report.map(|report| report.verdict) {
        None => "stale".to_owned(),
        Some(StepVerdict::Pass) => "pass".to_owned(),
        Some(StepVerdict::Failing { reason, .. }) => {
            format!("failing {}", reason.map_or("", |reason| reason.as_str())).trim().to_owned()
        }
        Some(StepVerdict::NeedsHuman { .. }) => "asked".to_owned(),
        Some(StepVerdict::Unknown) => "unknown".to_owned(),
    }
}

/// The example of the protocol.
const SEED: &str = "---
story: US-005
step: impl
attempt: 2
status: failing
reason: null
files_changed:
  - internal/cart/service.go
  - internal/discount/engine.go
tests_pass: 42
tests_fail: 2
tests_skip: 1
---

# HANDOFF — US-005 impl attempt:2

## What was done this time
- Modified DiscountEngine.ApplyCoupon() to add coupon expiration check
";

#[test]
fn handoffs_in_every_form() {
    let pass =
        "---\nstory: US-005\nstep: impl\nattempt: 2\nstatus: pass\nreason: null\n---\n\nDone.\n";
    let table: Vec<(&str, Vec<u8>, &str)> = vec![
        ("the example of the protocol", SEED.into(), "failing"),
        ("a plain pass", pass.into(), "pass"),
        ("CRLF", pass.replace('\n', "\r\n").into(), "pass"),
        ("a byte order mark", format!("\u{feff}{pass}").into(), "pass"),
        ("a leading blank line", format!("\n  \n{pass}").into(), "pass"),
        (
            "a fenced block",
            format!("```yaml\n{}```\n\nDone.\n", pass.replace("\n\nDone.", "")).into(),
            "pass",
        ),
        (
            "a fenced block without dashes",
            "```yaml\nstatus: pass\nattempt: 2\n```\n".into(),
            "pass",
        ),
        ("a fenced block that does not end", "```yaml\nstatus: pass\n".into(), "failing"),
        ("a fenced block of something else", "```go\nstatus := pass\n```\n".into(), "unknown"),
        (
            "quoted values",
            "---\nstory: 'US-005'\nattempt: \"2\"\nstatus: \"pass\"\nreason: 'null'\n---\n".into(),
            "pass",
        ),
        (
            "comments",
            "---\n# mine\nstatus: pass # really\nreason: null # none\n---\n".into(),
            "pass",
        ),
        ("dashes inside a value", "---\nstatus: pass\nsummary: a --- b\n---\n".into(), "pass"),
        (
            "dashes inside a block",
            "---\nsummary: |\n  a\n  ---\n  b\nstatus: failing\n---\nstatus: pass\n".into(),
            "failing",
        ),
        ("a status only in the body", "---\nstory: US-005\n---\nstatus: pass\n".into(), "unknown"),
        ("the wrong story", pass.replace("US-005", "US-004").into(), "stale"),
        ("the wrong step", pass.replace("impl", "verify").into(), "stale"),
        ("the wrong attempt", pass.replace("attempt: 2", "attempt: 1").into(), "stale"),
        ("half written", "---\nstory: US-005\nstatus: pass\n".into(), "failing"),
        ("half written, in a word", "---\nstatus: pa".into(), "failing"),
        ("empty", "".into(), "failing"),
        ("blank", " \n\n\t\n".into(), "failing"),
        ("only dashes", "---\n---\n".into(), "unknown"),
        ("not UTF-8", b"---\nstatus: pass\nsummary: caf\xe9\n---\n".to_vec(), "failing"),
        ("zeros", vec![0; 64], "unknown"),
        ("free form", "I did it, all tests pass.\n".into(), "unknown"),
        (
            "free form, unclear",
            "Then: [NEEDS CLARIFICATION] which currency?\n".into(),
            "failing needs_clarification",
        ),
        (
            "free form, violation",
            "CONSTITUTION VIOLATION, and a SCOPE WARNING\n".into(),
            "failing constitution_violation",
        ),
        ("passing", pass.replace("pass", "passing").into(), "pass"),
        ("failed", pass.replace("pass", "failed").into(), "failing"),
        ("a sentence for a status", pass.replace("pass", "pass, mostly").into(), "failing"),
        ("a list for a status", pass.replace("status: pass", "status: [pass]").into(), "failing"),
        ("a status twice", pass.replace("reason: null", "status: failing").into(), "failing"),
        (
            "a pass with a reason",
            pass.replace("null", "scope_warning").into(),
            "failing scope_warning",
        ),
        ("a free reason", pass.replace("null", "took a while").into(), "pass"),
        ("needs a person", pass.replace("pass", "needs_human").into(), "asked"),
        ("no YAML", "---\nstatus: pass\n: : :\n- x\n---\n".into(), "failing"),
        ("tabs", "---\n\tstatus: pass\n---\n".into(), "pass"),
        ("a second document", "---\nstatus: failing\n---\nstatus: pass\n---\n".into(), "failing"),
        ("too long", [pass.as_bytes(), &vec![b'x'; 1 << 20]].concat(), "failing"),
        ("a list", "---\n- status: pass\n---\n".into(), "failing"),
    ];
    for (name, bytes, expected) in &table {
        assert_eq!(verdict(&FoundHandOver::Missing, &parse_handoff(bytes)), *expected, "{name}");
    }
    let FoundHandOver::Content(paper) = parse_handoff(SEED.as_bytes()) else {
        panic!("it can be read")
    };
    let files = ["internal/cart/service.go", "internal/discount/engine.go"];
    assert_eq!(paper.claimed.files_changed, files);
    assert_eq!(
        paper.claimed.tests.map(|tests| (tests.pass, tests.fail, tests.skip)),
        Some((42, 2, 1))
    );
}

#[test]
fn executor_results_in_every_form() {
    let example = "# .ai/executor-result\nstatus: pass\nreason: null\nsummary: Timezone issue in \
                   ApplyCoupon fixed, now using UTC for comparison\n";
    for (name, text, expected) in [
        ("the example of the protocol", example, "pass"),
        ("CRLF", &*example.replace('\n', "\r\n"), "pass"),
        ("a colon in the summary", "status: pass\nsummary: fixed: it works\n", "pass"),
        ("quoted", "status: \"pass\"\nreason: 'null'\n", "pass"),
        ("a comment", "status: failing # for now\nsummary: a: b\n", "failing"),
        ("in words", "it went well\n", "failing"),
        ("empty", "", "failing"),
        ("comments alone", "# status: pass\n", "failing"),
        ("half written", "status: pas", "failing"),
        ("cut before the word", "status:", "unknown"),
        ("another story", "story: US-001\nstatus: pass\n", "stale"),
        ("another attempt", "attempt: 1\nstatus: pass\nsummary: a: b\n", "stale"),
        ("twice", "status: failing\nsummary: a: b\nstatus: pass\n", "failing"),
        ("misspelt", "status: passed\n", "pass"),
        (
            "with a reason",
            "status: failing\nreason: needs_clarification\n",
            "failing needs_clarification",
        ),
    ] {
        assert_eq!(
            verdict(&parse_executor_result(text.as_bytes()), &FoundHandOver::Missing),
            expected,
            "{name}"
        );
    }
    assert_eq!(
        verdict(&parse_executor_result(b"status: pass \xff"), &FoundHandOver::Missing),
        "failing"
    );
}

/// Returns a project whose story is running at `impl`, dispatched as by `story next`.
fn dispatched(root: &Path) -> (StoryFolder, StateFile) {
    let folder = StoryFolder::at(root);
    let lock = folder.lock().expect("a lock");
    let mut state = running();
    state.status = StepStatus::Pending;
    let mut file = StateFile::new(state.clone());
    let signs =
        folder.archive_hand_overs(&lock, &state, &StateSlot::Main, false).expect("put aside");
    let now = Time::from_millis(
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(0)),
    );
    let next = StoryInput::Next { now, note: None, open: vec![] };
    let decision = advance_story(&rules::defaults(), &state, &next);
    file.set_extra("papers_before", signs);
    let text = file.to_text(&decision.state, &rules::defaults());
    folder.put_state(&lock, &StateSlot::Main, &text).expect("written");
    let file = folder.state(&StateSlot::Main).expect("read").expect("there");
    (folder, file)
}

#[test]
fn hand_over_of_an_earlier_executor_does_not_count_for_the_next() {
    let home = tempfile::tempdir().expect("a folder");
    let ai = home.path().join(".ai");
    fs::create_dir(&ai).expect("a folder");
    fs::write(ai.join("HANDOFF.md"), "---\nstatus: pass\n---\n\nMine.\n").expect("written");
    fs::write(ai.join("executor-result"), "status: pass\n").expect("written");
    let (folder, file) = dispatched(home.path());
    assert_eq!(
        folder.read_hand_overs(&StateSlot::Main, &file).expect("read"),
        HandOverFiles::from_shared(&FoundHandOver::Missing, &FoundHandOver::Unchanged)
    );
    // The next executor can read the hand-over, and the history has it once, even after crashes.
    assert!(ai.join("HANDOFF.md").exists() && !ai.join("executor-result").exists());
    let history = fs::read_to_string(ai.join("history.md")).expect("a history");
    assert_eq!((history.matches("Mine.").count(), history.matches("status: pass").count()), (1, 2));
    let (_, file) = dispatched(home.path());
    assert_eq!(fs::read_to_string(ai.join("history.md")).expect("a history"), history);
    // The same text written again counts as new.
    fs::remove_file(ai.join("HANDOFF.md")).expect("removed");
    fs::write(ai.join("HANDOFF.md"), "---\nstatus: pass\n---\n\nMine.\n").expect("written");
    assert!(matches!(
        folder.read_hand_overs(&StateSlot::Main, &file).expect("read").handoff,
        FoundHandOver::Content(_)
    ));
    // A file older than the dispatch is not its hand-over, even without a recorded fingerprint.
    let mut file = file;
    file.set_extra("papers_before", serde_json::Value::Null);
    let old = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
    let paper = fs::File::options().write(true).open(ai.join("HANDOFF.md")).expect("opened");
    paper.set_modified(old).expect("an old file");
    assert_eq!(
        folder.read_hand_overs(&StateSlot::Main, &file).expect("read").handoff,
        FoundHandOver::Unchanged
    );
}

#[test]
fn pipe_in_place_of_a_hand_over_does_not_block() {
    let home = tempfile::tempdir().expect("a folder");
    let (folder, file) = dispatched(home.path());
    let made = std::process::Command::new("mkfifo").arg(folder.path("HANDOFF.md")).status();
    assert!(made.expect("mkfifo").success());
    assert!(folder.read_hand_overs(&StateSlot::Main, &file).is_err());
}
