//! A malicious agent as a real process with everything that a run has: its attempts on other runs
//! are refused and recorded, and nothing else is affected.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::project::{HttpProject, ListeningDaemon, PATIENCE};

/// Two agents: `good` works until it is told to end, and `evil` runs the test's script.
const CREW: &str = r#"
[scheduler]
poll = "1h"
grace = "300ms"
attempts_max = 1

[agents.good]
kind = "command"
sandbox = "none"
command = ["sh", "-c", "printf %s $ADJUTANT_RUN_TOKEN > good.tmp; mv good.tmp good.token; while [ ! -e end ]; do sleep 0.1; done; adjutant report done"]

[agents.evil]
kind = "command"
sandbox = "none"
command = ["sh", "evil.sh"]
"#;

/// A project with a working run, waiting tasks and a malicious run.
struct AttackSetup {
    stage: HttpProject,
    up: ListeningDaemon,
    /// The task of the working run.
    other: String,
    /// The run token of the working run.
    stolen: String,
    evil: String,
    /// The files of all other tasks and runs before the malicious run started.
    before: BTreeMap<String, Vec<u8>>,
}

impl AttackSetup {
    fn new(script: &str) -> Self {
        let stage = HttpProject::with_settings(CREW);
        fs::write(stage.path("../evil.sh"), script).expect("written");
        fs::write(stage.path("../secret.txt"), "TOP-SECRET\n").expect("written");
        stage.add(&["Waits in the backlog"]);
        let review = stage.add(&["Waits for a person", "--status", "ready", "--tag", "nobody"]);
        stage.json(&["task", "move", &review, "blocked", "--reason", "a question"]);
        let other = stage.add(&["Work of somebody else", "--agent", "good", "--status", "ready"]);
        let up = stage.up();
        let token = stage.path("../good.token");
        until("the other one works", || token.exists());
        // The shim records the agent's process id only after it has started the agent.
        let shim = stage.path(&format!("runs/{other}/attempts/1/shim.json"));
        until("its process is known", || {
            let known = |text: String| !text.contains("\"agentPid\":null");
            fs::read_to_string(&shim).is_ok_and(known)
        });
        let stolen = fs::read_to_string(token).expect("a token");
        let before = files(&stage);
        let evil = stage.add(&["Do harm", "--agent", "evil", "--status", "ready"]);
        Self { stage, up, other, stolen, evil, before }
    }

    /// Waits until the malicious run has ended, and returns its output.
    fn wait_for_exit(&self) -> String {
        let attempt = self.stage.path(&format!("runs/{}/attempts/1", self.evil));
        until("it is over", || attempt.join("exit.json").exists());
        until("that was heard", || {
            self.stage.json(&["task", "show", &self.evil])["status"] != "in-progress"
        });
        fs::read_to_string(attempt.join("output.log")).unwrap_or_default()
    }

    /// Asserts that no file of another task or run changed, and that the other run still completes.
    fn assert_others_unaffected(&self) {
        let mut after = files(&self.stage);
        after.retain(|name, _| !name.contains(&self.evil));
        // The heartbeats of the other run are expected.
        let own = |name: &String| name.ends_with("run_heartbeat.json");
        let changed: Vec<&String> = self
            .before
            .iter()
            .filter(|(name, text)| !own(name) && after.get(*name) != Some(text))
            .map(|(name, _)| name)
            .collect();
        let added: Vec<&String> =
            after.keys().filter(|name| !self.before.contains_key(*name)).collect();
        assert_eq!((changed, added), (vec![], vec![]));
        fs::write(self.stage.path("../end"), "").expect("written");
        until("the other one is done", || {
            self.stage.json(&["task", "show", &self.other])["status"] == "review"
        });
        until("the folder is whole", || self.stage.json(&["doctor"])["ok"] == true);
    }
}

/// Returns the contents of all files of tasks and runs, by path.
fn files(stage: &HttpProject) -> BTreeMap<String, Vec<u8>> {
    let root = stage.path("");
    let (mut found, mut open) = (BTreeMap::new(), vec![root.join("tasks"), root.join("runs")]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() {
                let name = path.strip_prefix(&root).expect("it is inside").display().to_string();
                found.insert(name, fs::read(&path).unwrap_or_default());
            }
        }
    }
    found
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns a completion report on a task.
fn report(id: &str, agent: &str, token: Option<&str>) -> Value {
    let mut report = json!({
        "protocol": "aof", "version": 1, "type": "completion.report", "taskId": id,
        "fromAgent": agent, "toAgent": "dispatcher", "sentAt": "2026-02-09T21:10:00.000Z",
        "payload": {"outcome": "done", "summaryRef": "outputs/summary.md", "deliverables": [],
            "tests": {"total": 0, "passed": 0, "failed": 0}, "blockers": [], "notes": "mine now"},
    });
    if let Some(token) = token {
        report["runToken"] = json!(token);
    }
    report
}

#[test]
fn malicious_agent_cannot_report_for_another_agent() {
    let script = r#"
while [ ! -e go ]; do sleep 0.05; done
# Printed: as the other agent, with its token and without, and as itself for the other task.
sed 's/^/AOF\/1 /' with.json without.json mine.json
# Sent: the same, with its environment as it is, emptied, and made that of the other.
for message in with.json without.json mine.json; do
    adjutant send $message --json
    env -u ADJUTANT_RUN_TOKEN -u ADJUTANT_TASK_ID adjutant send $message --json
    env -i PATH="$PATH" setsid -w adjutant --data .adjutant send $message --json
    ADJUTANT_RUN_TOKEN=$(cat good.token) ADJUTANT_TASK_ID=$(cat other) ADJUTANT_AGENT=good adjutant send $message --json
done
ADJUTANT_RUN_TOKEN=$(cat good.token) ADJUTANT_TASK_ID=$(cat other) ADJUTANT_AGENT=good adjutant report done --json
ADJUTANT_TASK_ID=$(cat other) adjutant report blocked --blocker harm --json
ADJUTANT_TASK_ID=$(cat other) ADJUTANT_AGENT=good adjutant beat --json
# A result of another dialect, for a task that is not its own.
printf '{"taskId": "%s", "result": "success", "summary": "mine"}' "$(cat other)" > result.json
adjutant send result.json --json
env -u ADJUTANT_RUN_TOKEN -u ADJUTANT_TASK_ID adjutant send result.json --json
echo the end
"#;
    let scene = AttackSetup::new(script);
    let leave = |name: &str, text: &Value| {
        fs::write(scene.stage.path(&format!("../{name}")), format!("{text}\n")).expect("written");
    };
    leave("with.json", &report(&scene.other, "good", Some(&scene.stolen)));
    leave("without.json", &report(&scene.other, "good", None));
    leave("mine.json", &report(&scene.other, "evil", None));
    fs::write(scene.stage.path("../other"), &scene.other).expect("written");
    fs::write(scene.stage.path("../go"), "").expect("written");
    let printed = scene.wait_for_exit();
    assert!(printed.contains("the end"), "{printed}");
    assert!(!printed.contains("\"applied\""), "{printed}");
    assert!(!printed.contains("\"noop\""), "{printed}");
    let rejected = scene.stage.events("protocol.message.rejected");
    assert!(rejected.len() >= 16, "{}: {rejected:#?}", rejected.len());
    // The printed lines without a token do not count at all.
    let warned = scene.stage.events("protocol.message.warning");
    let missing = warned.iter().filter(|event| event["payload"]["reason"] == "missing_token");
    assert_eq!(missing.count(), 2, "{warned:#?}");
    scene.assert_others_unaffected();
}

#[test]
fn malicious_agent_cannot_run_operator_commands() {
    let script = r#"
while [ ! -e go ]; do sleep 0.05; done
other=$(cat other)
try() {
    for how in "env" "env -u ADJUTANT_RUN_TOKEN" "env -i PATH=$PATH HOME=$HOME" "setsid -w env -u ADJUTANT_RUN_TOKEN -u ADJUTANT_TASK_ID USER=alice"; do
        if $how adjutant --data .adjutant "$@" --json > answer 2>&1 < /dev/null; then echo "WORKED: $how $*: $(cat answer)"; fi
        grep -q operator_only answer && echo "refused: $1" || echo "ODD: $how $*: $(cat answer)"
    done
}
try task add stolen
try task edit $other --title mine
try task move $other ready
try task cancel $other
try task retry $other
try task copy $other
try task reopen $other
printf -- '- [ ] stolen\n' > plan.md
try task import plan.md
try approve $other
try reject $other --reason no
try answer $other yes
try inbox apply $other 1-message.json
try tick
try up
try down
try down --stop
try doctor --fix
try agents test good
try export stolen.tar
try undo $other
try mcp --agent good
env -u ADJUTANT_RUN_TOKEN adjutant mcp < /dev/null && echo "WORKED: mcp"
(setsid sh -c '(while [ ! -e orphaned ]; do sleep 0.05; done; env -i PATH="$0" adjutant --data .adjutant task cancel "$1"; touch tried) &' "$PATH" $other)
touch orphaned
while [ ! -e tried ]; do sleep 0.05; done
echo the end
"#;
    let scene = AttackSetup::new(script);
    fs::write(scene.stage.path("../other"), &scene.other).expect("written");
    fs::write(scene.stage.path("../go"), "").expect("written");
    let printed = scene.wait_for_exit();
    assert!(printed.contains("the end"), "{printed}");
    assert!(!printed.contains("WORKED") && !printed.contains("ODD"), "{printed}");
    assert_eq!(printed.matches("refused: ").count(), 4 * 21, "{printed}");
    let refused = scene.stage.events("command.refused");
    // The event log contains every refusal and the agent behind it.
    assert_eq!(refused.len(), 4 * 21 + 1, "{refused:#?}");
    let by_evil = refused.iter().filter(|event| event["actor"] == "evil").count();
    assert_eq!(by_evil, refused.len());
    assert!(!scene.stage.path("../stolen.tar").exists());
    scene.assert_others_unaffected();
}

#[test]
fn run_token_is_refused_on_every_operator_route() {
    let script = "printf %s \"$ADJUTANT_RUN_TOKEN\" > own.tmp; mv own.tmp own.token; while [ ! -e evil-end ]; do sleep 0.05; done\n";
    let scene = AttackSetup::new(script);
    let path = scene.stage.path("../own.token");
    until("it works", || path.exists());
    let token = fs::read_to_string(path).expect("a token");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let page: Value =
        serde_json::from_str(&fs::read_to_string(page).expect("a page")).expect("JSON");
    let mut calls = 0;
    for (path, methods) in page["paths"].as_object().expect("paths") {
        for method in
            methods.as_object().expect("methods").keys().filter(|name| *name != "parameters")
        {
            let method = method.to_uppercase();
            if method == "GET"
                && (path == "/healthz"
                    || path == "/readyz"
                    || path.contains("openapi")
                    || path.contains("events")
                    || path == "/v1/tasks"
                    || path == "/mcp")
            {
                continue;
            }
            // Paths with a parameter name the other run's task.
            let filled: String = path
                .split('/')
                .map(|part| if part.starts_with('{') { scene.other.as_str() } else { part })
                .collect::<Vec<_>>()
                .join("/");
            if matches!(&*filled, "/v1/messages" | "/mcp") {
                continue;
            }
            let reply = scene.up.call_as(&token, &method, &filled, "{}");
            assert!(matches!(reply.status, 400..=499), "{method} {filled}: {reply:?}");
            calls += 1;
        }
    }
    assert!(calls > 15, "{calls}");
    for message in [
        report(&scene.other, "good", None),
        report(&scene.other, "good", Some(&scene.stolen)),
        report(&scene.other, "evil", Some(&token)),
    ] {
        let reply = scene.up.call_as(&token, "POST", "/v1/messages", &message.to_string());
        assert_eq!((reply.status, &reply.json()["result"]), (200, &json!("rejected")), "{reply:?}");
    }
    fs::write(scene.stage.path("../evil-end"), "").expect("written");
    scene.wait_for_exit();
    scene.assert_others_unaffected();
}

#[test]
fn report_cannot_read_outside_task_folder_by_link_pipe_or_device() {
    let script = r#"
own="$ADJUTANT_DATA/tasks/in-progress/$ADJUTANT_TASK_ID"
outside="$PWD/secret.txt"
refuse() { adjutant report done --json "$@" > answer || true; grep -q '"rejected"' answer && echo "refused" || echo "TAKEN $*: $(cat answer)"; }
refuse --summary ../../../../secret.txt
refuse --summary "$outside"
refuse --summary "outputs/../../../../../secret.txt"
refuse --deliverable ../secret.txt
refuse --deliverable /etc/passwd
mkdir -p "$own/outputs"
ln -s "$outside" "$own/outputs/link.md"
refuse --summary outputs/link.md
ln -s "$PWD" "$own/outputs/folder"
refuse --summary outputs/folder/secret.txt
ln -s /dev/zero "$own/outputs/zero.md"
refuse --summary outputs/zero.md
ln -s "$outside" deliverable.txt
refuse --deliverable deliverable.txt
# Neither is a file: nobody may wait for them.
mkfifo "$own/outputs/pipe.md" "$own/outputs/handoff.md"
mkdir -p "$own/inputs"
mkfifo "$own/inputs/handoff.md" "$own/inputs/handoff.json" "$own/inputs/answer-1.md"
ln -s "$outside" "$own/inputs/answer-2.md"
ln -s /dev/zero "$own/inputs/answer-3.md"
mkdir "$own/outputs/summary.md"
adjutant report progress "still here"
adjutant report done --summary outputs/pipe.md --deliverable nowhere.txt
"#;
    let scene = AttackSetup::new(script);
    let printed = scene.wait_for_exit();
    assert!(!printed.contains("TAKEN"), "{printed}");
    assert_eq!(printed.matches("refused\n").count(), 9, "{printed}");
    // Commands and pages that show the task must not hang on the agent's files or follow its links.
    let shown = scene.stage.ok(&["task", "show", &scene.evil]);
    let inbox = scene.stage.ok(&["inbox"]);
    let order = scene.stage.ok(&["mission", &scene.evil, "--dialect", "prompt"]);
    let page = scene.up.get(&format!("/tasks/{}", scene.evil)).text();
    for text in
        [shown, inbox, order, page, scene.up.get(&format!("/v1/tasks/{}", scene.evil)).text()]
    {
        assert!(!text.contains("TOP-SECRET"), "{text}");
    }
    let status = scene.stage.json(&["task", "show", &scene.evil])["status"].clone();
    assert_eq!(status, "review");
    scene.stage.ok(&["approve", &scene.evil]);
    assert_eq!(
        fs::read_to_string(scene.stage.path("../secret.txt")).expect("a file"),
        "TOP-SECRET\n"
    );
    scene.assert_others_unaffected();
}

#[test]
fn summary_write_follows_no_link_left_by_agent() {
    // The agent completes by MCP, with links to foreign files in the place of its summary.
    let script = r#"
own="$ADJUTANT_DATA/tasks/in-progress/$ADJUTANT_TASK_ID"
mkdir -p "$own/outputs"
ln "$PWD/secret.txt" "$own/outputs/summary.md"
( echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
  echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
  for tool in list create show why approve reject retry cancel answer send; do
      echo '{"jsonrpc":"2.0","id":"'$tool'","method":"tools/call","params":{"name":"'$tool'","arguments":{"id":"'$(cat other)'","title":"x","reason":"x"}}}'
  done
  echo '{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"adjutant://tasks/../../secret.txt"}}'
  until [ "$(grep -c '"id"' answers)" -ge 12 ]; do sleep 0.05; done
  echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"complete","arguments":{"summary":"written over"}}}'
  until grep -q '"id":2[,}]' answers; do sleep 0.05; done ) | adjutant mcp | tee answers
"#;
    let stage_other = |scene: &AttackSetup| {
        fs::write(scene.stage.path("../other"), &scene.other).expect("written");
    };
    let scene = {
        let script = format!("while [ ! -e go ]; do sleep 0.05; done\n{script}");
        AttackSetup::new(&script)
    };
    stage_other(&scene);
    fs::write(scene.stage.path("../go"), "").expect("written");
    let printed = scene.wait_for_exit();
    assert_eq!(
        fs::read_to_string(scene.stage.path("../secret.txt")).expect("a file"),
        "TOP-SECRET\n"
    );
    let summary = scene.stage.path(&format!("tasks/review/{}/outputs/summary.md", scene.evil));
    assert_eq!(fs::read_to_string(summary).expect("a file"), "written over\n", "{printed}");
    assert!(!printed.contains("TOP-SECRET"), "{printed}");
    for tool in
        ["list", "create", "show", "why", "approve", "reject", "retry", "cancel", "answer", "send"]
    {
        let answer = printed
            .lines()
            .find(|line| line.contains(&format!("\"id\":\"{tool}\"")))
            .unwrap_or_default();
        assert!(answer.contains("\"error\""), "{tool}: {answer}");
    }
    scene.assert_others_unaffected();
}

#[test]
fn output_and_report_flood_leaves_others_served() {
    let script = r#"
# Much output, many messages among it, and as many by command.
i=0
while [ $i -lt 3000 ]; do
    echo 'AOF/1 {"protocol":"aof","version":1,"type":"status.update","taskId":"'$ADJUTANT_TASK_ID'","fromAgent":"evil","toAgent":"d","sentAt":"2026-02-09T21:10:00Z","runToken":"'$ADJUTANT_RUN_TOKEN'","payload":{"taskId":"'$ADJUTANT_TASK_ID'","agentId":"evil","progress":"flood '$i'"}}'
    i=$((i+1))
done > flood
cat flood
head -c 30000000 /dev/zero | tr '\0' 'x'; echo
sed 's/^AOF.1 //' flood > lines
adjutant send --lines lines --json > answers
echo the end
"#;
    let scene = AttackSetup::new(script);
    // Other callers are served meanwhile.
    let began = Instant::now();
    let id = scene.stage.add(&["Somebody else's wish"]);
    scene.stage.json(&["task", "cancel", &id]);
    assert!(began.elapsed() < PATIENCE);
    let printed = scene.wait_for_exit();
    assert!(printed.contains("the end"), "{}", printed.len());
    let answers = fs::read_to_string(scene.stage.path("../answers")).expect("answers");
    assert_eq!(answers.lines().count(), 3000);
    // The stored amount is bounded, and the answers name the refusals.
    let refused = answers.lines().filter(|line| line.contains("too_many_requests")).count();
    assert!(refused >= 2000, "{refused}");
    let task = fs::metadata(scene.stage.path(&format!("tasks/deadletter/{}.md", scene.evil)))
        .expect("a task");
    assert!(task.len() < 300_000, "{}", task.len());
    let events = scene.stage.events("protocol.message.rejected");
    assert!(!events.is_empty() && events.len() < 200, "{}", events.len());
    let _ = fs::remove_file(scene.stage.path(&format!("tasks/cancelled/{id}.md")));
}

#[test]
fn control_characters_from_agent_reach_no_terminal() {
    let script = r#"
esc=$(printf '\033')
own="$ADJUTANT_DATA/tasks/in-progress/$ADJUTANT_TASK_ID/outputs"
mkdir -p "$own"
name=$(printf 'red\033[31m\nAOF 1 {}\rover\342\200\256txt')
long=$(printf 'n%.0s' $(seq 255))
touch "$own/$name" "$own/$long" "$name" "$long"
printf '\033]0;title\007\033[2J gone \302\233 31m\n'
adjutant report progress "$esc[2J$name"
adjutant report done --deliverable "$name" --json > answer && echo TAKEN
grep -q rejected answer && echo refused
adjutant report done --notes "$esc[31m$name" --deliverable "$long"
"#;
    let scene = AttackSetup::new(script);
    let printed = scene.wait_for_exit();
    assert!(printed.contains("refused\n") && !printed.contains("TAKEN"), "{printed:?}");
    let id = &*scene.evil;
    let looks: [&[&str]; 8] = [
        &["task", "show", id],
        &["task", "list"],
        &["inbox"],
        &["events"],
        &["why", id],
        &["status"],
        &["agents"],
        &["mission", id, "--dialect", "prompt"],
    ];
    for args in looks {
        let text = scene.stage.ok(args);
        let bad = text.chars().find(|c| {
            (c.is_control() && *c != '\n' && *c != '\t')
                || ('\u{202a}'..='\u{202e}').contains(c)
                || ('\u{2066}'..='\u{2069}').contains(c)
        });
        assert_eq!(bad, None, "{args:?}: {text:?}");
    }
    let page = scene.up.get(&format!("/tasks/{id}")).text();
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'), "{page:?}");
    scene.assert_others_unaffected();
}
