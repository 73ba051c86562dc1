//! A table of authority: every command, called by a process of a run, by one that emptied its
//! environment, by a check of the run's work, and by an agent that fetched its task and runs
//! elsewhere.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use adjutant_config::run_token::TokenSecret;
use adjutant_model::TaskId;
use adjutant_model::run_nonce::RunNonce;
use serde_json::json;

use crate::commands::support::LiveProcess;
use crate::up::project::{DaemonProject, wait_for};

/// What a caller inside a run may do with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    /// Only an operator may.
    Operator,
    /// Every caller may: it reads.
    Anyone,
    /// A process of the run may, by what its environment says about the run. An agent that fetched
    /// its task has such an environment too.
    RunEnvironment,
    /// A process of the run may, whatever its environment says; a check may not.
    Run,
    /// It acts on no project that exists.
    Elsewhere,
}

/// Every command; `OTHER` is another task, `OWN` the task of the run.
const COMMANDS: [(&str, Right); 66] = [
    ("init", Right::Elsewhere),
    ("task add stolen", Right::Operator),
    ("task edit OTHER --title mine", Right::Operator),
    ("task move OTHER ready", Right::Operator),
    ("task cancel OTHER", Right::Operator),
    ("task retry OTHER", Right::Operator),
    ("task copy OTHER", Right::Operator),
    ("task reopen OTHER", Right::Operator),
    ("task import plan.md", Right::Operator),
    ("task list", Right::Anyone),
    ("task show OTHER", Right::Anyone),
    ("task diff OWN", Right::Anyone),
    ("approve OTHER", Right::Operator),
    ("approve OWN", Right::Operator),
    ("approve OWN --allow-protected", Right::Operator),
    ("reject OTHER --reason no", Right::Operator),
    ("answer OTHER yes", Right::Operator),
    ("inbox", Right::Anyone),
    ("inbox apply OTHER 1-message.json", Right::Operator),
    ("why OTHER", Right::Anyone),
    ("tick", Right::Operator),
    ("trust --yes", Right::Operator),
    ("trust OTHER", Right::Operator),
    ("undo OTHER", Right::Operator),
    ("up", Right::Operator),
    ("down", Right::Operator),
    ("status", Right::Anyone),
    ("open", Right::Operator),
    ("top", Right::Anyone),
    ("logs OWN", Right::Anyone),
    ("agents", Right::Anyone),
    ("agents test dev", Right::Operator),
    ("agents allow dev a.example", Right::Operator),
    ("send own.json", Right::Run),
    ("report progress half", Right::RunEnvironment),
    ("beat", Right::RunEnvironment),
    ("mcp --agent qa", Right::Operator),
    ("session-end OWN", Right::Run),
    ("events", Right::Anyone),
    ("mission OTHER", Right::Anyone),
    ("check plan.md", Right::Anyone),
    ("schema task", Right::Anyone),
    ("story init", Right::Operator),
    ("story start US-1", Right::Operator),
    ("story next", Right::Operator),
    ("story approve", Right::Operator),
    ("story reject default", Right::Operator),
    ("story rollback bdd", Right::Operator),
    ("story reopen US-1", Right::Operator),
    ("story auto US-1", Right::Operator),
    ("story hook", Right::Operator),
    ("story report-error x", Right::Operator),
    ("story poll", Right::Anyone),
    ("story prompt", Right::Anyone),
    ("story status", Right::Anyone),
    ("story list", Right::Anyone),
    ("doctor", Right::Anyone),
    ("doctor --fix", Right::Operator),
    ("export stolen.tar", Right::Operator),
    ("fleet key", Right::Operator),
    ("fleet restore", Right::Operator),
    ("import stolen.tar", Right::Elsewhere),
    ("demo", Right::Elsewhere),
    ("completions bash", Right::Anyone),
    ("man", Right::Anyone),
    ("help", Right::Anyone),
];

/// Calls every command of the table, and writes the answers to the file that it is given.
const TRY: &str = r#"
cd "$(dirname "$0")"
program=$(cat program)
while read -r line; do
    $program --data .adjutant --json $line < /dev/null > answer.$$ 2>&1
    code=$?
    reason=$code
    if [ $code != 0 ]; then
        found=$(grep -o 'operator_only\|token_required\|no_run' answer.$$ | head -n 1)
        reason=${found:-$code}
    fi
    echo "$line => $reason"
done < commands > "$1.new"
mv "$1.new" "$1"
"#;

fn result<'a>(answers: &'a str, command: &str) -> &'a str {
    let line = answers.lines().find_map(|line| line.strip_prefix(&format!("{command} => ")));
    line.unwrap_or_else(|| panic!("no answer to {command}: {answers}"))
}

#[test]
fn every_command_has_a_right() {
    let stage = DaemonProject::new("");
    let help = stage.run_ok(["help"]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed: BTreeSet<&str> = listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let known: BTreeSet<&str> =
        COMMANDS.iter().filter_map(|(command, _)| command.split(' ').next()).collect();
    let unknown: Vec<&&str> =
        listed.difference(&known).filter(|name| **name != "version").collect();
    assert_eq!(unknown, Vec::<&&str>::new(), "these commands are not in the table");
}

#[test]
fn command_inside_run_or_check_has_only_the_rights_of_its_caller() {
    let script = "sh try.sh run.txt\nenv -i PATH=\"$PATH\" USER=alice sh try.sh empty.txt\n\
                  adjutant report done\n";
    let checks = "checks = [\"env -i setsid -w sh try.sh check.txt\"]";
    let stage = DaemonProject::new("").with_command("dev", script, checks);
    let home = stage.home();
    fs::write(home.join("try.sh"), TRY).expect("written");
    fs::write(home.join("program"), env!("CARGO_BIN_EXE_adjutant")).expect("written");
    fs::write(home.join("plan.md"), "- [ ] stolen\n").expect("written");
    stage.run_ok(["story", "init"]);
    stage.run_ok(["story", "start", "US-9"]);
    let other = stage.json(&["task", "add", "Of another agent", "--agent", "qa"]);
    let other = other["id"].as_str().expect("an id").to_owned();
    let words = ["task", "add", "Do it", "--agent", "dev", "--status", "ready"];
    let own = stage.json(&words)["id"].as_str().expect("an id").to_owned();
    let progress = json!({
        "protocol": "aof", "version": 1, "type": "status.update", "taskId": own,
        "fromAgent": "dev", "toAgent": "dispatcher", "sentAt": "2026-02-09T21:10:00.000Z",
        "payload": {"taskId": own, "agentId": "dev", "progress": "half"},
    });
    fs::write(home.join("own.json"), progress.to_string()).expect("written");
    let called = COMMANDS.iter().filter(|(_, right)| *right != Right::Elsewhere);
    // The terminal display needs a terminal.
    let called: Vec<_> = called.filter(|(command, _)| *command != "top").collect();
    let named = |command: &str| command.replace("OTHER", &other).replace("OWN", &own);
    let lines: String = called.iter().map(|(command, _)| named(command) + "\n").collect();
    fs::write(home.join("commands"), lines).expect("written");
    let before = stage.json(&["task", "show", &other]);
    let fetched = fetch_task(&stage);
    let _up = stage.up();
    wait_for("the work is checked", || home.join("check.txt").exists());
    wait_for("the check has ended", || stage.status(&own) == "review");
    let logged_before = refusal_count(&stage);
    call_as_fetched_agent(&stage, &fetched, &own);
    let logged_fetched = refusal_count(&stage) - logged_before;
    let [run, empty, check, fetched] = ["run.txt", "empty.txt", "check.txt", "fetched.txt"]
        .map(|name| fs::read_to_string(home.join(name)).expect("answers"));
    let mut wrong = vec![];
    for (command, right) in called {
        let command = named(command);
        let all = [&run, &empty, &check, &fetched];
        let results = all.map(|answers| result(answers, &command));
        let is_refused = |result: &str| result == "operator_only" || result == "token_required";
        let is_right = match right {
            Right::Operator => results == ["operator_only"; 4],
            Right::Anyone => !results.iter().any(|result| is_refused(result)),
            Right::RunEnvironment => results == ["0", "no_run", "no_run", "0"],
            Right::Run => results == ["0", "0", "token_required", "0"],
            Right::Elsewhere => false,
        };
        if !is_right {
            wrong.push(format!("{command}: {results:?}, {right:?}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(stage.json(&["task", "show", &other]), before);
    // Every refusal is in the event log.
    let count = |answers: &String| answers.matches("operator_only").count();
    assert!(logged_before >= count(&run) + count(&empty) + count(&check), "{logged_before}");
    assert!(logged_fetched >= count(&fetched), "{logged_fetched}");
}

/// Returns how many refusals the event log has.
fn refusal_count(stage: &DaemonProject) -> usize {
    let is_refusal = |event: &&serde_json::Value| {
        let reason = &event["payload"]["reason"];
        reason == "operator_only" || reason == "token_required"
    };
    stage.events().iter().filter(is_refusal).count()
}

/// Has an agent that no configuration names fetch a task over MCP, and returns the task.
fn fetch_task(stage: &DaemonProject) -> String {
    let words = ["task", "add", "Far away", "--agent", "far", "--status", "ready"];
    let task = stage.json(&words)["id"].as_str().expect("an id").to_owned();
    let mut session = LiveProcess::start(&mut stage.command(["mcp", "--agent", "far"]));
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let call = json!({"name": "next_task", "arguments": {}});
    for (id, method, params) in [(1, "initialize", hello), (2, "tools/call", call)] {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        session.write(&request.to_string());
        let answer = session.next();
        assert!(answer["error"].is_null() && answer["result"]["isError"] != true, "{answer}");
    }
    session.finish();
    assert_eq!(stage.status(&task), "in-progress");
    task
}

/// Calls every command of the table with the environment of an agent that fetched a task, from
/// outside all runs.
fn call_as_fetched_agent(stage: &DaemonProject, task: &str, own: &str) {
    let home = stage.home();
    // The message is about its own task, as that of the run was.
    let message = fs::read_to_string(home.join("own.json")).expect("a message");
    let message = message.replace(own, task).replace("\"dev\"", "\"far\"");
    fs::write(home.join("own.json"), message).expect("written");
    let lines = fs::read_to_string(home.join("commands")).expect("the commands");
    let lines = lines.replace(&format!("session-end {own}"), &format!("session-end {task}"));
    fs::write(home.join("commands"), lines).expect("written");
    let id = TaskId::parse(task).expect("an id");
    let shown = stage.json(&["task", "show", task]);
    let nonce = shown["lease"]["nonce"].as_str().and_then(RunNonce::parse);
    let token = TokenSecret::read(&stage.path("")).expect("a secret").token(&id, 1, nonce);
    let mut shell = Command::new("sh");
    for (name, value) in stage.command([""; 0]).get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let ran = shell
        .args([home.join("try.sh").as_os_str(), "fetched.txt".as_ref()])
        .current_dir(home)
        .env("ADJUTANT_TASK_ID", task)
        .env("ADJUTANT_AGENT", "far")
        .env("ADJUTANT_ATTEMPT", "1")
        .env("ADJUTANT_RUN_TOKEN", token)
        .status();
    assert!(ran.expect("it starts").success());
    // Named as in the table.
    let answers = fs::read_to_string(home.join("fetched.txt")).expect("answers");
    let named = answers.replace(&format!("session-end {task}"), &format!("session-end {own}"));
    fs::write(home.join("fetched.txt"), named).expect("written");
}
