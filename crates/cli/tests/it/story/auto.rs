//! `adjutant story auto`: runs configured agents until a person must decide.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::story::support::{StoryTestProject, adjutant, story_position_text};
use crate::up::strict_sandbox::has_bubblewrap;

/// An agent whose hand-over passes every step. The file `wait-STORY` delays it.
const AGENT: &str = r#"#!/bin/sh
set -- $(sed -n 's/.*(story: \([^,]*\), step: \([^,]*\), attempt: \([0-9]*\),.*/\1 \2 \3/p')
echo "$1 $2 $3" >> "agent-$1.log"
while [ -e "wait-$1" ]; do sleep 0.02; done
[ -e "crash-$2" ] && { rm "crash-$2"; echo 'out of tokens' >&2; exit 7; }
mkdir -p docs/bdd docs/deltas docs/api
case "$2" in
  bdd) echo 'Scenario: cart' > "docs/bdd/$1.md" ;;
  sdd-delta) echo '# ADDED' > "docs/deltas/$1.md" ;;
  contract) echo 'openapi: 3.1.0' > docs/api/openapi.yaml ;;
  update-memory) echo "- $1" >> PROJECT_MEMORY.md ;;
esac
printf -- '---\nstory: %s\nstep: %s\nattempt: %s\nstatus: pass\nreason: null\n---\n' "$1" "$2" "$3" > .ai/HANDOFF.md
"#;

const CONFIG: &str = "[scheduler]\nbackoff = \"10ms\"\ngrace = \"1s\"\n\n[agents.fixer]\nkind = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n";

fn project() -> StoryTestProject {
    let project = StoryTestProject::empty();
    let made = adjutant().arg("init").arg(project.root()).output().expect("it starts");
    assert!(made.status.success(), "{made:?}");
    project.write(".adjutant/adjutant.toml", CONFIG);
    project.write("agent.sh", AGENT);
    project.json(&["start", "US-005"]);
    project
}

/// Runs `story auto` to its end, and returns its exit code and JSON lines.
fn auto(project: &StoryTestProject, args: &[&str]) -> (i32, Vec<Value>) {
    let mut command = project.command(&[&["auto", "--json"], args].concat());
    let output = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("a document"));
    (output.status.code().unwrap_or(-1), lines.collect())
}

fn places(answers: &[Value]) -> Vec<String> {
    let passing = |place: &String| place.ends_with("running") || place.ends_with("pending");
    answers.iter().map(story_position_text).filter(|place| !passing(place)).collect()
}

#[test]
fn story_auto_stops_at_review_and_after_approval_runs_to_end() {
    let project = project();
    let (code, answers) = auto(&project, &[]);
    let expected = ["bdd 1 pass", "sdd-delta 1 pass", "contract 1 pass", "review 1 needs_human"];
    assert_eq!((code, places(&answers)), (0, expected.map(str::to_owned).to_vec()), "{answers:#?}");
    assert_eq!(auto(&project, &["US-005"]).1[0]["result"], "needs_human", "nobody else approves");
    project.json(&["approve"]);
    let (_, answers) = auto(&project, &["--agent", "fixer"]);
    let expected = [
        "scaffold 1 pass",
        "impl 1 pass",
        "verify 1 pass",
        "commit 1 pass",
        "update-memory 1 pass",
        "done 1 pass",
    ];
    assert_eq!(places(&answers), expected);
    let runs = project.read("agent-US-005.log");
    assert_eq!(runs.lines().count(), 8, "every step is one run: {runs}");
}

#[test]
fn story_step_under_strict_works_in_project_and_sees_no_data_folder() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    project.write(".adjutant/adjutant.toml", &format!("{CONFIG}sandbox = \"strict\"\n"));
    let spy = "cat .adjutant/secret > stolen 2> /dev/null || echo refused >> refused.log\n";
    project.write("agent.sh", &format!("{spy}{AGENT}"));
    let (code, answers) = auto(&project, &[]);
    let expected = ["bdd 1 pass", "sdd-delta 1 pass", "contract 1 pass", "review 1 needs_human"];
    assert_eq!((code, places(&answers)), (0, expected.map(str::to_owned).to_vec()), "{answers:#?}");
    assert_eq!(
        (&*project.read("refused.log"), &*project.read("stolen")),
        ("refused\nrefused\nrefused\n", "")
    );
}

#[test]
fn story_auto_retries_crashed_agent_and_keeps_its_error() {
    let project = project();
    project.write("crash-bdd", "");
    let (_, answers) = auto(&project, &[]);
    let first: Vec<String> = places(&answers).into_iter().take(2).collect();
    assert_eq!(first, ["bdd 1 failing", "bdd 2 pass"]);
    let failed = answers.iter().find(|answer| answer["status"] == "failing").expect("it failed");
    let error = failed["last_error"].as_str().expect("an error");
    assert!(error.contains("out of tokens"), "{error}");
}

#[test]
fn story_auto_fails_hand_over_for_another_step() {
    let project = project();
    project.write("agent.sh", &AGENT.replace("step: %s", "step: not-%s"));
    let (code, answers) = auto(&project, &[]);
    let expected = ["bdd 1 failing", "bdd 2 failing", "bdd 3 failing", "bdd 3 needs_human"];
    assert_eq!((code, places(&answers)), (0, expected.map(str::to_owned).to_vec()));
    let failed = answers.iter().find(|answer| answer["status"] == "failing").expect("it failed");
    let error = failed["last_error"].as_str().expect("an error");
    assert!(error.contains("is about the step not-bdd"), "{error}");
    assert_eq!(answers.last().map(|last| &last["waiting_for"]), Some(&json!("stuck")));
}

#[test]
fn story_auto_drives_one_story_and_waits_for_blocking_story() {
    let project = project();
    project.json(&["start", "US-006"]);
    project.json(&["start", "US-007", "--blocked-by", "US-005"]);
    let (_, answers) = auto(&project, &["US-007"]);
    assert_eq!(
        (&answers[0]["result"], &answers[0]["blocked_by"]),
        (&json!("blocked"), &json!(["US-005"]))
    );
    for story in ["US-005", "US-006"] {
        let (_, answers) = auto(&project, &[story]);
        assert_eq!(
            answers.last().map(story_position_text).as_deref(),
            Some("review 1 needs_human"),
            "{answers:#?}"
        );
    }
    project.json(&["approve", "--story", "US-005"]);
    let (_, answers) = auto(&project, &["US-005"]);
    assert_eq!(answers.last().map(|last| &last["result"]), Some(&json!("done")));
    let (_, answers) = auto(&project, &["US-007"]);
    assert_eq!(
        answers.last().map(story_position_text).as_deref(),
        Some("review 1 needs_human"),
        "{answers:#?}"
    );
}

#[test]
fn story_auto_resumes_after_kill_without_repeating_a_run() {
    let project = project();
    project.write("wait-US-005", "");
    let mut command = project.command(&["auto", "--json"]);
    let mut first = command.stdout(Stdio::null()).spawn().expect("it starts");
    let until = Instant::now() + Duration::from_mins(1);
    while !project.path("agent-US-005.log").exists() {
        assert!(Instant::now() < until, "the agent was never started");
        std::thread::sleep(Duration::from_millis(10));
    }
    // A second `auto` for the same story only watches; one for another story is refused.
    let mut second = project.command(&["auto", "US-005", "--json"]);
    let second = second.stdout(Stdio::piped()).spawn().expect("it starts");
    project.json(&["start", "US-006"]);
    assert_eq!(auto(&project, &["US-006"]).0, 1);
    project.json(&["auto", "--off", "US-006"]);
    first.kill().expect("it can be killed");
    first.wait().expect("it ends");
    let second = second.wait_with_output().expect("it ends");
    assert!(second.status.success(), "{second:?}");
    std::fs::remove_file(project.path("wait-US-005")).expect("removed");
    let (code, answers) = auto(&project, &["US-005"]);
    assert_eq!((code, places(&answers)[0].as_str()), (0, "bdd 1 pass"), "{answers:#?}");
    let runs = project.read("agent-US-005.log");
    assert_eq!(runs, "US-005 bdd 1\nUS-005 sdd-delta 1\nUS-005 contract 1\n");
}

#[test]
fn story_auto_leaves_foreign_executor_alone() {
    let project = project();
    project.json(&["next"]);
    let (code, answers) = auto(&project, &[]);
    assert_eq!((code, &answers[0]["result"]), (0, &json!("running")));
    assert!(!project.path("agent-US-005.log").exists());
}

#[test]
fn story_auto_without_agent_changes_nothing() {
    let project = project();
    let before = project.read(".ai/STATE.json");
    assert_eq!(auto(&project, &["--agent", "nobody"]).0, 2);
    assert_eq!(project.read(".ai/STATE.json"), before);
}

#[test]
fn story_auto_killed_anywhere_resumes_without_repeating_steps() {
    let mut killed = 0;
    for point in (1..).step_by(11) {
        let project = project();
        let mut command = project.command(&["auto"]);
        let ended = command.env("ADJUTANT_DIE_AT", point.to_string()).output().expect("it starts");
        if ended.status.code().is_some() {
            assert!(ended.status.success(), "{ended:?}");
            break;
        }
        killed += 1;
        let (code, answers) = auto(&project, &[]);
        let last = answers.last().map(story_position_text);
        assert_eq!(
            (code, last.as_deref()),
            (0, Some("review 1 needs_human")),
            "at {point}: {answers:#?}"
        );
        let runs = project.read("agent-US-005.log");
        assert_eq!(runs, "US-005 bdd 1\nUS-005 sdd-delta 1\nUS-005 contract 1\n", "at {point}");
    }
    assert!(killed >= 5, "{killed} points are too few");
}

/// The terminal shows the steps, redrawn in place, and the next action at the end.
#[test]
fn story_auto_shows_ten_steps_live_on_terminal() {
    let project = project();
    project.write("crash-sdd-delta", "");
    project.write("docs/bdd/US-005.md", "# The cart takes coupons\n");
    let live = |columns: &str| {
        let words = format!("{} story auto US-005", env!("CARGO_BIN_EXE_adjutant"));
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--command", &words, "/dev/null"]);
        script.env_remove("ADJUTANT_DATA").env_remove("ADJUTANT_RUN_TOKEN").env("USER", "alice");
        script.env("TERM", "xterm").env("NO_COLOR", "1").env("COLUMNS", columns);
        script.current_dir(project.root()).stdin(Stdio::null());
        let output = crate::with_trust(&mut script).output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n")
    };
    let shown = live("60");
    assert!(shown.contains("\n  ✓ bdd "), "{shown}");
    assert!(shown.contains("      exit code 7: out of tokens\n"), "{shown}");
    let last = |shown: &str| -> Vec<String> {
        let last = shown.rsplit("\u{1b}[J").next().unwrap_or_default();
        last.lines().map(|line| line.split("  ").nth(1).unwrap_or(line).trim().to_owned()).collect()
    };
    let stays = shown.rsplit("\u{1b}[J").next().expect("something is drawn");
    assert!(stays.starts_with("US-005 The cart takes coupons  "), "{stays}");
    let steps = ["✓ bdd", "✓ sdd-delta", "✓ contract", "? review", "· scaffold", "· impl"];
    assert_eq!(last(&shown)[1..7], steps, "{stays}");
    assert!(stays.ends_with("`adjutant story reject REASON` sends it back.\n"), "{stays}");
    assert!(!stays.contains("Do not review it yourself"), "this is a person: {stays}");
    project.json(&["approve"]);
    let shown = live("60");
    let steps = last(&shown)[1..11].join(" ");
    assert_eq!(steps.matches('✓').count(), 10, "{shown}");
    let stays = shown.rsplit("\u{1b}[J").next().expect("something is drawn");
    assert!(stays.contains("\n  ✓ bdd\n"), "how long that took is not known here: {stays}");
}

#[test]
fn story_auto_names_agent_that_reached_its_limit() {
    let project = project();
    let limit = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"}}"#;
    project.write("agent.sh", &format!("cat > /dev/null\necho '{limit}'\nexit 1\n"));
    project.write(".adjutant/adjutant.toml", &CONFIG.replace("\"command\"", "\"claude\""));
    let mut auto = project.command(&["auto"]);
    let mut auto = auto.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut said = BufReader::new(auto.stdout.take().expect("an output")).lines();
    let named = said.find_map(|line| {
        line.ok().filter(|line| line.starts_with("fixer has reached its usage limit, until "))
    });
    let end = Instant::now() + Duration::from_mins(1);
    while story_position_text(&project.state()) != "bdd 1 pending" && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    let seen = story_position_text(&project.state());
    auto.kill().expect("it can be killed");
    auto.wait().expect("it ends");
    assert_eq!(seen, "bdd 1 pending", "no attempt is spent");
    let named = named.expect("it says why it waits");
    assert!(named.ends_with(": it has reached its usage limit"), "{named}");
}
