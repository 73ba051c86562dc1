//! The environment of agents, checks and setup commands: no secret of Adjutant is in it.

use std::fmt::Write as _;
use std::fs;

use crate::up::project::DaemonProject;
use crate::up::worktrees::repository;

/// The variables of the daemon that no agent may see.
const SECRETS: [(&str, &str); 7] = [
    ("OPS_HOOK_URL", "https://hooks.example/ops"),
    ("OPS_HOOK_SECRET", "secret-of-the-notify-rule"),
    ("REMOTE_SECRET", "secret-of-the-webhook-agent"),
    ("ADJUTANT_OPERATOR_TOKEN", "token-of-the-operator"),
    ("ADJUTANT_NATS_CREDENTIALS", "node.creds"),
    ("ADJUTANT_NATS_KEY", "node.key"),
    ("ADJUTANT_NATS_CERT", "node.cert"),
];

/// Settings that name the first three.
const SETTINGS: &str = r#"
[agents.remote]
kind = "webhook"
url = "http://127.0.0.1:9/"
secret_env = "REMOTE_SECRET"
[[notify]]
on = ["deadletter"]
target = "webhook"
url_env = "OPS_HOOK_URL"
secret_env = "OPS_HOOK_SECRET"
"#;

/// The names of the variables that a process of the project printed.
fn variables(stage: &DaemonProject, process: &str) -> Vec<String> {
    let printed = fs::read_to_string(stage.home().join(format!("{process}.env")));
    let printed = printed.unwrap_or_else(|error| panic!("{process} printed nothing: {error}"));
    for (name, value) in SECRETS {
        assert!(!printed.contains(value), "{process} sees {name}: {printed}");
        assert!(!printed.contains(&format!("{name}=")), "{process} sees {name}: {printed}");
    }
    let names = printed.lines().filter_map(|line| line.split_once('='));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// Runs every task, with the secrets in the environment of the daemon.
fn run_with_secrets(stage: &DaemonProject) {
    let mut command = stage.command(["up", "--until-idle"]);
    let ran = command
        .envs(SECRETS)
        .envs([("OTHER_VARIABLE", "1"), ("EXTRA_ONE", "1"), ("ANTHROPIC_API_KEY", "key")])
        .output()
        .expect("the daemon starts");
    assert!(ran.status.success(), "{ran:?}");
}

#[test]
fn agent_of_any_kind_sees_no_secret_of_adjutant() {
    let mut stage = DaemonProject::new("attempts_max = 1").with_settings(SETTINGS);
    let kinds = ["command", "claude", "codex", "gemini", "opencode", "goose", "acp"];
    for kind in kinds {
        let script = stage.home().join(format!("{kind}.sh"));
        let text = format!("env > {}/{kind}.env\n", stage.home().display());
        fs::write(&script, text + "adjutant report done\n").expect("written");
        let mut settings = format!(
            "[agents.{kind}]\nkind = \"{kind}\"\ncommand = [\"sh\", \"{}\"]\n",
            script.display()
        );
        if kind != "command" {
            writeln!(settings, "env_pass = [\"EXTRA_*\"]").expect("a text takes it");
        }
        stage = stage.with_settings(&settings);
        stage.add(kind);
    }
    run_with_secrets(&stage);
    for kind in kinds {
        let names = variables(&stage, kind);
        let sees = |name: &str| names.iter().any(|seen| seen == name);
        assert!(
            sees("PATH") && sees("ADJUTANT_RUN_TOKEN") && sees("EXTRA_ONE"),
            "{kind}: {names:?}"
        );
        assert_eq!(sees("OTHER_VARIABLE"), kind == "command", "{kind}: {names:?}");
        if kind == "claude" {
            assert!(sees("ANTHROPIC_API_KEY"), "{names:?}");
        }
    }
}

#[test]
fn checks_and_setup_see_no_secret_of_adjutant() {
    let stage = DaemonProject::new("attempts_max = 1").with_settings(SETTINGS);
    let home = stage.home().display().to_string();
    let project = format!(
        "[project]\nsetup = [\"env > {home}/setup.env\"]\nchecks = [\"env > {home}/check.env\"]\n"
    );
    let settings = "workspace = \"worktree\"\n";
    let script = "echo made > made.txt\nadjutant report done\n";
    let stage = stage.with_command("dev", script, settings).with_settings(&project);
    repository(&stage);
    stage.add("dev");
    run_with_secrets(&stage);
    for process in ["setup", "check"] {
        let seen = variables(&stage, process);
        assert!(seen.iter().any(|name| name == "OTHER_VARIABLE"), "{process}: {seen:?}");
    }
}
