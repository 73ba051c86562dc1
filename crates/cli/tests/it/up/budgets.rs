//! Budgets, end to end: real processes that print what agent programs print.

use std::fs;

use serde_json::Value;

use crate::up::project::{DaemonProject, until, wait_for};

/// A program that prints the events of Claude Code, with 100 tokens for each model call, and that
/// ends when it gets SIGTERM.
const CLAUDE: &str = r#"
trap 'echo "asked to end"; kill $! 2> /dev/null; exit 0' TERM
echo "$@" > "$ADJUTANT_DATA/../arguments-$ADJUTANT_ATTEMPT"
echo '{"type":"system","subtype":"init","session_id":"11111111-1111-4111-8111-111111111111","claude_code_version":"2.1.325","mcp_servers":[{"name":"adjutant","status":"connected"}]}'
i=0
while [ $i -lt $CALLS ]; do
    i=$((i + 1))
    echo '{"type":"assistant","message":{"id":"m'$i'","content":[{"type":"text","text":"at it"}],"usage":{"input_tokens":60,"cache_read_input_tokens":30,"output_tokens":10}}}'
    sleep 0.1 & wait $!
done
[ -z "$COST" ] || echo '{"type":"result","subtype":"success","is_error":false,"total_cost_usd":'$COST',"usage":{"input_tokens":60,"output_tokens":10},"result":"done"}'
case $THEN in
    wait) while :; do sleep 1 & wait $!; done ;;
    fail) exit 3 ;;
    report) adjutant report done ;;
esac
"#;

/// Returns a project with an agent of the kind `claude` that runs this script.
fn stage(scheduler: &str, agent: &str, calls: u32, then: &str, cost: &str) -> DaemonProject {
    let stage = DaemonProject::new(scheduler);
    let path = stage.home().join("claude.sh");
    fs::write(&path, CLAUDE).expect("written");
    let path = path.display();
    stage.with_settings(&format!(
        "[agents.dev]\nkind = \"claude\"\ncommand = [\"sh\", \"{path}\"]\n{agent}\n\
         [agents.dev.env]\nCALLS = \"{calls}\"\nTHEN = \"{then}\"\nCOST = \"{cost}\"\n"
    ))
}

fn printed(stage: &DaemonProject, id: &str) -> String {
    fs::read_to_string(stage.attempt(id, 1).join("output.log")).unwrap_or_default()
}

/// Returns the reason why a task is in the dead-letter queue.
fn given_up(stage: &DaemonProject, id: &str) -> String {
    assert_eq!(stage.status(id), "deadletter");
    let inbox = stage.json(&["inbox"]);
    inbox[0]["text"].as_str().unwrap_or_default().to_owned()
}

fn codes(stage: &DaemonProject, id: &str) -> Vec<String> {
    let why = stage.json(&["why", id]);
    let reasons = why["reasons"].as_array().expect("a list").iter();
    reasons.map(|reason| reason["code"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Returns the inbox entries about budgets.
fn budgets(stage: &DaemonProject) -> Vec<Value> {
    let inbox = stage.json(&["inbox"]);
    let items = inbox.as_array().expect("a list").iter();
    items.filter(|item| item["kind"] == "budget").cloned().collect()
}

#[test]
fn token_budget_overrun_stops_run() {
    let stage = stage("attempts_max = 1", "budget_tokens = 250", 1_000, "wait", "");
    let id = stage.add("dev");
    stage.until_idle();
    assert!(given_up(&stage, &id).contains("exceeded its budget and was stopped"));
    let exited = &stage.events_of(&id, "run.exited")[0]["payload"];
    assert_eq!(exited["exit"], "over_budget", "{exited}");
    // The run was asked to end, not killed, and its token usage is recorded.
    assert!(printed(&stage, &id).contains("asked to end"), "{}", printed(&stage, &id));
    let spent = &stage.json(&["task", "show", &id])["metadata"]["usage"][0];
    let tokens =
        spent["inputTokens"].as_u64().unwrap_or(0) + spent["outputTokens"].as_u64().unwrap_or(0);
    assert!((300..1_000).contains(&tokens), "{spent}");
    assert_eq!(spent["agent"], "dev", "{spent}");
    // The commands show the same usage.
    let agents = stage.json(&["agents"]);
    assert_eq!(agents["agents"][0]["today"]["inputTokens"], spent["inputTokens"], "{agents}");
    let words = format!("{tokens} tokens");
    for args in [&["agents"][..], &["task", "show", &id]] {
        let said = stage.run_ok(args);
        assert!(said.contains(&words), "{said}");
    }
    let status = stage.adjutant(["status"]);
    assert!(status.out.contains(&format!("dev used {words} today")), "{status:?}");
    let status = stage.adjutant(["status", "--json"]);
    let status: Value = serde_json::from_str(&status.out).expect("JSON");
    assert_eq!(status["today"]["dev"]["outputTokens"], spent["outputTokens"], "{status}");
}

#[test]
fn cost_budget_overrun_stops_run() {
    let stage = stage("attempts_max = 1", "budget_usd = 0.5", 1, "wait", "0.61");
    let id = stage.add("dev");
    stage.until_idle();
    assert!(given_up(&stage, &id).contains("exceeded its budget and was stopped"));
    let told = fs::read_to_string(stage.home().join("arguments-1")).expect("arguments");
    assert!(told.contains("--max-budget-usd 0.5"), "the program is told itself: {told}");
}

#[test]
fn budget_with_one_token_left_does_not_stop_run() {
    let stage =
        stage("attempts_max = 1", "budget_tokens = 301\nbudget_usd = 0.5", 3, "report", "0.499999");
    let id = stage.add("dev");
    stage.until_idle();
    assert_eq!(stage.status(&id), "done");
    let stage = self::stage("attempts_max = 1", "budget_tokens = 300", 3, "wait", "");
    let id = stage.add("dev");
    stage.until_idle();
    assert_eq!(stage.status(&id), "deadletter", "the last token is the last");
}

#[test]
fn token_budget_counts_codex_usage() {
    let script = r#"
trap 'echo "asked to end"; exit 0' TERM
echo '{"type":"thread.started","thread_id":"t1"}'
echo '{"type":"turn.completed","usage":{"input_tokens":900,"cached_input_tokens":100,"output_tokens":200}}'
while :; do sleep 1 & wait $!; done
"#;
    let stage = DaemonProject::new("attempts_max = 1");
    let path = stage.home().join("codex.sh");
    fs::write(&path, script).expect("written");
    let path = path.display();
    let stage = stage.with_settings(&format!(
        "[agents.dev]\nkind = \"codex\"\ncommand = [\"sh\", \"{path}\"]\nbudget_tokens = 1000\n"
    ));
    let id = stage.add("dev");
    stage.until_idle();
    assert!(given_up(&stage, &id).contains("exceeded its budget and was stopped"));
    assert!(printed(&stage, &id).contains("asked to end"));
}

#[test]
fn task_budget_overrun_waits_for_person() {
    let stage = stage("budget_tokens_task = 250", "", 2, "fail", "");
    let id = stage.add("dev");
    stage.until_idle();
    // Attempt 1 used 200 tokens and failed; attempt 2 had 50 left and was stopped.
    let exits: Vec<Value> = stage
        .events_of(&id, "run.exited")
        .iter()
        .map(|event| event["payload"]["exit"].clone())
        .collect();
    assert_eq!(exits, ["code:3", "over_budget"]);
    assert_eq!(
        (stage.status(&id), codes(&stage, &id)),
        ("ready".into(), vec!["budget_task".to_owned()])
    );
    let inbox = budgets(&stage);
    assert_eq!(inbox.len(), 1, "{inbox:?}");
    assert!(
        inbox[0]["text"].as_str().is_some_and(|text| text.contains("has used up its budget: ")),
        "{inbox:?}"
    );
    // A person who raises the budget lets the task continue.
    let path = stage.path(&format!("tasks/ready/{id}.md"));
    let file = fs::read_to_string(&path).expect("a task");
    fs::write(&path, file.replacen("metadata:\n", "metadata:\n  budgetTokens: 100000\n", 1))
        .expect("written");
    stage.until_idle();
    assert_eq!(stage.status(&id), "deadletter");
    assert_eq!(stage.events_of(&id, "run.started").len(), 3);
}

#[test]
fn daily_budget_overrun_delays_tasks_until_next_day() {
    for (scheduler, agent) in [("", "budget_tokens_day = 150"), ("budget_tokens_day = 150", "")] {
        let stage = stage(scheduler, agent, 2, "report", "");
        let ids = [stage.add("dev"), stage.add("dev"), stage.add("dev")];
        stage.until_idle();
        // The first task was stopped or done; the others wait, and the inbox has one entry.
        let waiting: Vec<&String> =
            ids.iter().filter(|id| codes(&stage, id).contains(&"budget_day".to_owned())).collect();
        assert!(waiting.len() >= 2, "{waiting:?}");
        let inbox = budgets(&stage);
        assert_eq!(inbox.len(), 1, "{inbox:?}");
        let text = inbox[0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("daily budget"), "{text}");
        let started = stage.events().iter().filter(|event| event["type"] == "run.started").count();
        stage.until_idle();
        let again = stage.events().iter().filter(|event| event["type"] == "run.started").count();
        assert_eq!(again, started, "nothing more is started on this day");
        // The scheduler assigns work again on the next day.
        let planned = stage.json(&["tick", "--dry-run", "--now", &tomorrow()]);
        let assigned = planned["actions"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|action| action["type"] == "assign")
            .count();
        assert_eq!(assigned, 1, "{planned}");
        stage.json(&["tick", "--now", &tomorrow()]);
        let run = until("a run of the next day", || {
            let started =
                stage.events().iter().filter(|event| event["type"] == "run.started").count();
            (started > again).then_some(started)
        });
        assert_eq!(run, again + 1);
        wait_for("it ends", || stage.processes().is_empty());
    }
}

/// Returns a time on the next day, in the format of `--now`.
fn tomorrow() -> String {
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    adjutant_model::Time::from_millis(i64::try_from(now.as_millis()).expect("a time") + 86_400_000)
        .to_string()
}
