//! A table of authority: every command, called by a process of a run, by one that emptied its
//! environment, and by a check of the run's work.

use std::collections::BTreeSet;
use std::fs;

use serde_json::json;

use crate::up::project::{DaemonProject, wait_for};

/// What a caller inside a run may do with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    /// Only an operator may.
    Operator,
    /// Every caller may: it reads.
    Anyone,
    /// A process of the run may, by what its environment says about the run.
    RunEnvironment,
    /// A process of the run may, whatever its environment says; a check may not.
    Run,
    /// It acts on no project that exists.
    Elsewhere,
}

/// Every command; `OTHER` is another task, `OWN` the task of the run.
const COMMANDS: [(&str, Right); 64] = [
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
    let _up = stage.up();
    wait_for("the work is checked", || home.join("check.txt").exists());
    wait_for("the check has ended", || stage.status(&own) == "review");
    let [run, empty, check] = ["run.txt", "empty.txt", "check.txt"]
        .map(|name| fs::read_to_string(home.join(name)).expect("answers"));
    let mut wrong = vec![];
    for (command, right) in called {
        let command = named(command);
        let results = [&run, &empty, &check].map(|answers| result(answers, &command));
        let is_refused = |result: &str| result == "operator_only" || result == "token_required";
        let is_right = match right {
            Right::Operator => results == ["operator_only"; 3],
            Right::Anyone => !results.iter().any(|result| is_refused(result)),
            Right::RunEnvironment => results == ["0", "no_run", "no_run"],
            Right::Run => results == ["0", "0", "token_required"],
            Right::Elsewhere => false,
        };
        if !is_right {
            wrong.push(format!("{command}: {results:?}, {right:?}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(stage.json(&["task", "show", &other]), before);
    // Every refusal is in the event log.
    let refused = |event: &&serde_json::Value| {
        let reason = &event["payload"]["reason"];
        reason == "operator_only" || reason == "token_required"
    };
    let count = |answers: &String| answers.matches("operator_only").count();
    let logged = stage.events().iter().filter(refused).count();
    assert!(logged >= count(&run) + count(&empty) + count(&check), "{logged}");
}
