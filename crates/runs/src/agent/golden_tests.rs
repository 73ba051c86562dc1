//! Golden files of how every agent kind is started: command line, variables and files.

use std::fmt::Write as _;
use std::path::Path;

use adjutant_config::{Agent, Kind, Scheduler};
use adjutant_model::dialect::ProtocolDialect;
use adjutant_model::usage::UsageBudget;
use adjutant_run_files::dialect_files::DialectFiles;
use adjutant_run_files::sandbox_spec::CommandSandbox;
use adjutant_run_files::shim_spec::AgentEnvironment;
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;

use super::{AgentLaunch, LaunchContext, ResumedSession};

const EVERY_KIND: [Kind; 9] = [
    Kind::Claude,
    Kind::Codex,
    Kind::Gemini,
    Kind::Opencode,
    Kind::Goose,
    Kind::Acp,
    Kind::Command,
    Kind::Script,
    Kind::Webhook,
];

/// Every setting that affects how an agent is started.
const FULL: &str = r#"
command = ["./bin/agent", "--fast"]
args = ["--extra"]
model = "large"
script = "agents/swe.yaml"
prompt = "file"
timeout = "1h"
idle_timeout = "10m"
env = { LANG = "C" }
env_deny = ["AWS_*"]
workspace = "sub"
url = "https://agents.example.org/swe"
secret_env = "SWE_SECRET"
permissions = [
    { tool = "execute", title = "git push*", answer = "deny" },
    { tool = "read", answer = "allow" },
    { answer = "ask" },
]
"#;

fn full(kind: Kind) -> Agent {
    toml::from_str(&format!("kind = \"{}\"{FULL}", kind.as_str())).expect("settings of an agent")
}

fn bare(kind: Kind) -> Agent {
    let needs_command = matches!(kind, Kind::Acp | Kind::Command);
    let command = if needs_command { vec!["agent".into()] } else { vec![] };
    Agent { command, ..Agent::new(kind) }
}

const ATTEMPT: &str = "/p/.adjutant/runs/TASK-2026-02-09-001/attempts/2";

fn launched(agent: &Agent, resume: Option<ResumedSession<'_>>, budget: UsageBudget) -> AgentLaunch {
    let here = LaunchContext {
        home: Path::new("/p"),
        program: Path::new("/bin/adjutant"),
        attempt: Path::new(ATTEMPT),
        name: "adjutant-TASK-2026-02-09-001-2",
        resume,
        budget,
        secret_variables: &[],
    };
    AgentLaunch::for_agent(agent, &Scheduler::default(), &here, "Do it.\n".into())
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("it makes JSON")
}

/// Names the inherited variables once for each kind, because the list is long.
fn inherited(title: &str, pass: Option<&[String]>) -> String {
    match pass {
        None => "everything".to_owned(),
        Some(names) if title == "bare" => names.join(" "),
        Some(names) => format!("{} variables", names.len()),
    }
}

/// Prints a whole launch. The pattern has no `..`, so that a new field cannot be forgotten.
fn shown(title: &str, launch: AgentLaunch) -> String {
    let AgentLaunch {
        command,
        workspace,
        environment,
        prompt,
        lines,
        report,
        limits,
        order,
        files,
        stream_kind: reads,
        session,
        sandbox,
        terminate_scope: asks,
        version_warning: untried,
    } = launch;
    let mut text = format!("== {title}\n");
    let fields = [
        ("command", json(&command)),
        ("workspace", json(&workspace)),
        ("environment", json(&AgentEnvironment { pass: None, ..environment.clone() })),
        ("inherits", inherited(title, environment.pass.as_deref())),
        ("prompt", json(&prompt)),
        ("lines", json(&lines)),
        ("report", json(&report)),
        ("limits", json(&limits)),
        ("order", json(&order)),
        ("reads", json(&reads.map(Kind::as_str))),
        ("session", json(&session)),
        ("sandbox", json(&sandbox)),
        ("asks", json(&asks)),
        ("untried", json(&untried)),
    ];
    for (name, value) in fields {
        let _ = writeln!(text, "{name}: {value}");
    }
    for (name, file) in files {
        let _ = write!(text, "-- {name}\n{file}");
    }
    text + "\n"
}

fn launches(kind: Kind) -> String {
    let budget = UsageBudget { tokens: Some(100_000), cost: Some(2_500_000) };
    let resume = Some(ResumedSession { session: "c7d4-11", full_order: "Do it anew.\n" });
    let form = |dialect| {
        let forms = DialectFiles::for_dialect(dialect).expect("a dialect with documents");
        let launch = launched(&bare(kind), None, UsageBudget::default());
        launch.with_forms(forms, Path::new(ATTEMPT), "the document\n".into())
    };
    let own = Path::new(ATTEMPT).join("own");
    let sandbox = CommandSandbox::Landlock { writable: vec![own.clone(), "/p/out".into()] };
    let confined = form(ProtocolDialect::Mission).with_sandbox(&own, sandbox);
    [
        shown("bare", launched(&bare(kind), None, UsageBudget::default())),
        shown("full", launched(&full(kind), None, budget)),
        shown("resumed", launched(&full(kind), resume, budget)),
        shown("new_task", form(ProtocolDialect::NewTask)),
        shown("mission, in a sandbox", confined),
    ]
    .concat()
}

#[test]
fn agent_launches_match_golden_files() {
    assert_every_variant!(
        &EVERY_KIND,
        Kind { Claude, Codex, Gemini, Opencode, Goose, Acp, Command, Script, Webhook }
    );
    let mut golden = GoldenFolder::new("agent-launches");
    for kind in EVERY_KIND {
        golden.add(format!("{}.txt", kind.as_str()), launches(kind));
    }
    golden.check();
}
