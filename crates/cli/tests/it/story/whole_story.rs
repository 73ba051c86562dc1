//! A story through all ten steps: real executors, a real repository, a real test suite.

use serde_json::{Value, json};

use crate::story::support::{StoryTestProject, adjutant, answer, story_position_text};

/// An executor that reads its prompt, performs the step and writes a hand-over. Its first attempt
/// at `impl` claims a pass although the code has a mistake.
const EXECUTOR: &str = r#"
prompt=$(cat)
line=$(printf '%s\n' "$prompt" | sed -n 's/.*(story: \([^,]*\), step: \([^,]*\), attempt: \([0-9]*\),.*/\1 \2 \3/p')
set -- $line
story=$1 step=$2 attempt=$3 status=pass extra=
case $step in
bdd)
  mkdir -p docs/bdd
  echo 'Scenario: the total of a cart MUST be the sum of its prices' > "docs/bdd/$story.md" ;;
sdd-delta) mkdir -p docs/deltas; echo 'ADDED: total(prices)' > "docs/deltas/$story.md" ;;
contract) mkdir -p docs/api; echo 'openapi: 3.1.0' > docs/api/openapi.yaml ;;
scaffold)
  printf '%s\n' "$prompt" | grep -q 'whole numbers only' || exit 1
  mkdir -p tests
  echo '#[test] fn sums() { assert_eq!(cart::total(&[1, 2, 3]), 6); }' > tests/total.rs
  echo 'pub fn total(_: &[u32]) -> u32 { unimplemented!() }' > src/lib.rs
  status=failing ;;
impl)
  case $attempt in
  1) echo 'pub fn total(prices: &[u32]) -> u32 { prices.len() as u32 }' > src/lib.rs ;;
  *)
    printf '%s\n' "$prompt" | grep -q '^- sums$' || exit 1
    echo 'pub fn total(prices: &[u32]) -> u32 { prices.iter().sum() }' > src/lib.rs ;;
  esac ;;
verify) grep -q total docs/deltas/$story.md || status=failing ;;
commit)
  git add -A -- . ':!PROJECT_MEMORY.md' ':!.ai' && git commit -q -m "feat: total of a cart ($story)"
  extra="commit_hash: $(git rev-parse HEAD)
" ;;
update-memory)
  printf '%s\n' "$prompt" | grep -q '1 passed, 0 failed' || exit 1
  hash=$(sed -n 's/^commit_hash: //p' .ai/HANDOFF.md)
  echo "- $story is done ($hash)" >> PROJECT_MEMORY.md
  echo "- DONE $story" >> .ai/history.md ;;
esac
printf -- '---\nstory: %s\nstep: %s\nattempt: %s\nstatus: %s\nreason: null\n%s---\n\n# Did %s\n' \
  "$story" "$step" "$attempt" "$status" "$extra" "$step" > .ai/HANDOFF.md
"#;

const MANIFEST: &str =
    "[package]\nname = \"cart\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";

fn project() -> StoryTestProject {
    let project = StoryTestProject::empty();
    project.init_git();
    project.write("Cargo.toml", MANIFEST);
    project.write("src/lib.rs", "");
    project.write(".gitignore", "/target\nCargo.lock\n");
    project.json(&["init"]);
    // The build must not use the target folder of this test's own build.
    project.write(
        ".ai/step-rules.yaml",
        "test_command: CARGO_TARGET_DIR=target cargo test --offline --no-fail-fast\n",
    );
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "begin"]);
    project
}

#[test]
fn story_auto_takes_story_from_scenarios_to_commit() {
    let project = project();
    let init = adjutant().arg("init").arg(project.root()).output().expect("it starts");
    assert!(init.status.success(), "{init:?}");
    let config = "[agents.coder]\nkind = \"command\"\nsandbox = \"none\"\ncommand = [\"sh\", \"../coder.sh\"]\n";
    project.write(".adjutant/adjutant.toml", config);
    project.write(".gitignore", "/target\nCargo.lock\n/.adjutant\n");
    project.write("../coder.sh", EXECUTOR);
    project.json(&["start", "US-001"]);
    let auto = || {
        let output = project.command(&["auto"]).output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = auto();
    assert!(said.contains("US-001  review  attempt 1 of 1  needs_human"), "{said}");
    let mut approve = adjutant();
    approve.args(["approve", "US-001", "--note", "whole numbers only"]);
    let approved = approve.current_dir(project.root()).output().expect("it starts");
    assert!(approved.status.success(), "{approved:?}");
    let said = auto();
    let places: Vec<&str> = said.lines().filter(|line| line.contains("running")).collect();
    assert_eq!(places.len(), 6, "impl is tried twice: {said}");
    assert!(said.contains("US-001  impl  attempt 1 of 5  failing"), "{said}");
    assert!(said.ends_with("US-001 is done. There is nothing left to do.\n"), "{said}");
    let log = project.git(&["log", "-1", "--format=%s"]);
    assert_eq!(log, "feat: total of a cart (US-001)\n");
    assert!(project.read("PROJECT_MEMORY.md").contains("US-001 is done ("));
    let mut list = adjutant();
    list.args(["task", "list", "--status", "done", "--json"]).current_dir(project.root());
    let (_, tasks) = answer(&list.output().expect("it starts"));
    assert_eq!(tasks[0]["metadata"]["story"]["step"], "done", "{tasks}");
}

#[test]
fn story_commands_take_story_from_scenarios_to_commit() {
    let project = project();
    let begin = project.git(&["rev-parse", "HEAD"]);
    project.json(&["start", "US-001"]);
    let mut went = Vec::new();
    loop {
        let next = project.json(&["next"]);
        match next["result"].as_str().expect("a result") {
            "dispatched" => {
                project.executor(EXECUTOR, next["prompt"].as_str().expect("a prompt"));
                went.push(story_position_text(&project.json(&["hook"])));
            }
            "needs_human" => {
                went.push(story_position_text(&next));
                let status = project.json(&["status"]);
                let files = status["changed"]["files"].as_array().expect("a list").clone();
                assert!(files.contains(&json!("docs/bdd/US-001.md")), "{files:?}");
                project.json(&["approve", "--note", "whole numbers only"]);
            }
            "done" => break,
            other => panic!("{other}: {next}"),
        }
        assert!(went.len() < 20, "{went:#?}");
    }
    assert_eq!(
        went,
        [
            "bdd 1 pass",
            "sdd-delta 1 pass",
            "contract 1 pass",
            "review 1 needs_human",
            "scaffold 1 pass",
            "impl 1 failing",
            "impl 2 pass",
            "verify 1 pass",
            "commit 1 pass",
            "update-memory 1 pass",
        ]
    );
    let head = project.git(&["rev-parse", "HEAD"]);
    assert_ne!(head, begin);
    let said = project.git(&["log", "-1", "--format=%s"]);
    assert_eq!(said, "feat: total of a cart (US-001)\n");
    let committed = project.git(&["show", "--name-only", "--format=", "HEAD"]);
    assert!(committed.contains("src/lib.rs") && !committed.contains("MEMORY"), "{committed}");
    let memory = project.read("PROJECT_MEMORY.md");
    assert!(memory.contains(&format!("US-001 is done ({})", head.trim())), "{memory}");
    let history = project.read(".ai/history.md");
    assert!(history.contains("- DONE US-001") && history.contains("# Did impl"), "{history}");
    let state = project.state();
    assert_eq!(state["tests"], json!({"pass": 1, "fail": 0, "skip": 0}));
    let twice: Vec<&Value> =
        ["impl", "verify"].iter().map(|step| &state["dispatches"][step]).collect();
    assert_eq!(twice, [&json!(2), &json!(1)]);
}
