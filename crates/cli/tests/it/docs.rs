//! The pages in `docs/` and the README, compared with the code they describe.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use adjutant_git::workspace::MANIFESTS;
use adjutant_model::answer::Reason;
use adjutant_model::document::DocumentKind;
use adjutant_model::notice::NoticeKind;
use adjutant_runs::script::AgentScript;
use adjutant_store::file::doctor::FindingCode;
use serde_json::Value;

const PAGES: [&str; 16] = [
    "aof1.md",
    "commands.md",
    "configuration.md",
    "daemon.md",
    "dialects.md",
    "events.md",
    "files.md",
    "http.md",
    "mcp.md",
    "notifications.md",
    "reasons.md",
    "runs.md",
    "script-agent.md",
    "stories.md",
    "tutorial.md",
    "workspaces.md",
];

fn page(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(path).expect("the page is there")
}

fn adjutant() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjutant"));
    command.env_remove("ADJUTANT_RUN_TOKEN");
    command
}

fn schema(kind: &str) -> Value {
    let output = adjutant().args(["schema", kind]).stdin(Stdio::null()).output();
    serde_json::from_slice(&output.expect("the command starts").stdout).expect("a schema is JSON")
}

/// Returns the rows of the first table after a heading, cell by cell.
fn table(page: &str, heading: &str) -> Vec<Vec<String>> {
    let after = page.split_once(&format!("\n{heading}\n")).expect("the heading is there").1;
    let own = after.split("\n#").next().unwrap_or_default();
    let rows = own.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    let cell = |cell: &str| cell.trim().trim_matches('`').to_owned();
    rows.map(|row| row.trim_matches('|').split('|').map(cell).collect()).collect()
}

#[test]
fn reasons_page_lists_every_reason_with_its_meaning() {
    let listed: Vec<(String, String)> = table(&page("reasons.md"), "## Reasons")
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    let known: Vec<(String, String)> = Reason::ALL
        .iter()
        .map(|reason| {
            (reason.as_str().to_owned(), reason.meaning().trim().trim_matches('`').to_owned())
        })
        .collect();
    assert_eq!(listed, known);
}

#[test]
fn configuration_page_lists_every_harmless_setting() {
    let listed = table(&page("configuration.md"), "## Acceptance");
    let known: Vec<Vec<String>> = adjutant_config::HARMLESS_SETTINGS
        .iter()
        .map(|(table, keys)| vec![(*table).to_owned(), keys.join("`, `")])
        .collect();
    assert_eq!(listed, known);
}

#[test]
fn dialects_page_lists_every_status_and_key() {
    let listed = table(&page("dialects.md"), "## What each status becomes");
    let known: Vec<Vec<String>> = adjutant_model::dialect::STATUS_MAPPINGS
        .iter()
        .map(|row| {
            let outcome = row.outcome.as_str();
            [row.dialect.as_str(), row.status, outcome, row.reason_prefix.trim()]
                .map(str::to_owned)
                .into()
        })
        .collect();
    assert_eq!(listed, known);
    let listed = table(&page("dialects.md"), "## How a document is told");
    let known: Vec<Vec<String>> = DocumentKind::ALL
        .iter()
        .map(|kind| vec![kind.as_str().to_owned(), kind.keys().join("`, `")])
        .collect();
    assert_eq!(listed, known);
}

#[test]
fn workspaces_page_lists_every_manifest() {
    let listed: Vec<(String, Vec<String>)> =
        table(&page("workspaces.md"), "## Manifests and lock files")
            .into_iter()
            .map(|row| (row[0].clone(), row[1].split(", ").map(bare).collect()))
            .collect();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let known: Vec<(String, Vec<String>)> =
        MANIFESTS.iter().map(|(system, files)| ((*system).to_owned(), names(files))).collect();
    assert_eq!(listed, known);
}

/// Removes the backticks around a name.
fn bare(name: &str) -> String {
    name.trim_matches('`').to_owned()
}

#[test]
fn events_page_lists_every_event_type_with_its_payload() {
    let (page, schema) = (page("events.md"), schema("events"));
    let mut listed: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).collect();
    let mut known = Vec::new();
    for branch in schema["oneOf"].as_array().expect("a list") {
        let properties = &branch["properties"];
        let kind = properties["type"]["const"].as_str().expect("a type");
        let payload = match &properties["payload"]["$ref"] {
            Value::String(name) => &schema["$defs"][name.trim_start_matches("#/$defs/")],
            _ => &properties["payload"],
        };
        let forms = payload["anyOf"].as_array().into_iter().flatten().chain([payload]);
        let fields: BTreeSet<&String> = forms
            .filter_map(|form| form["properties"].as_object())
            .flat_map(|fields| fields.keys())
            .collect();
        let described: Vec<String> = table(&page, &format!("### `{kind}`"))
            .into_iter()
            .map(|mut row| row.remove(0))
            .collect();
        assert_eq!(described.len(), fields.len(), "{kind}");
        assert_eq!(described.iter().collect::<BTreeSet<_>>(), fields, "{kind}");
        known.push(kind);
    }
    listed.sort_unstable();
    known.sort_unstable();
    assert_eq!(listed, known);
}

#[test]
fn events_page_describes_every_field_of_line() {
    let schema = schema("events");
    let mut fields: Vec<&str> =
        schema["properties"].as_object().expect("an object").keys().map(String::as_str).collect();
    fields.extend(["type", "payload"]);
    fields.sort_unstable();
    let mut described: Vec<String> =
        table(&page("events.md"), "## A line").into_iter().map(|mut row| row.remove(0)).collect();
    described.sort_unstable();
    assert_eq!(described, fields);
}

#[test]
fn files_page_describes_every_field_of_task_file() {
    let schema = schema("task");
    let mut fields = Vec::new();
    for (field, described) in schema["properties"].as_object().expect("an object") {
        if !["routing", "metadata"].contains(&field.as_str()) {
            fields.push(field.clone());
            continue;
        }
        let inner = described["anyOf"][0]["properties"].as_object().expect("an object");
        fields.extend(inner.keys().map(|key| format!("{field}.{key}")));
    }
    let mut described: Vec<String> = table(&page("files.md"), "## The task file")
        .into_iter()
        .map(|mut row| row.remove(0))
        .collect();
    fields.sort_unstable();
    described.sort_unstable();
    assert_eq!(described, fields);
}

#[test]
fn notifications_page_lists_every_notice_kind() {
    let listed: Vec<String> = table(&page("notifications.md"), "## What can be told")
        .into_iter()
        .map(|mut row| row.remove(0))
        .collect();
    let known = std::iter::once("inbox").chain(NoticeKind::ALL.map(NoticeKind::as_str));
    assert_eq!(listed, known.collect::<Vec<_>>());
}

#[test]
fn configuration_page_describes_every_setting() {
    let schema = schema("config");
    for (heading, kind) in [
        ("[protocol]", "Protocol"),
        ("[scheduler]", "Scheduler"),
        ("[server]", "Server"),
        ("[agents.NAME]", "Agent"),
        ("[nats]", "Nats"),
        ("[log]", "Log"),
        ("[otlp]", "Otlp"),
        ("[[notify]]", "Notify"),
    ] {
        let settings = schema["$defs"][kind]["properties"].as_object().expect("an object");
        let described: Vec<String> = table(&page("configuration.md"), &format!("## `{heading}`"))
            .into_iter()
            .map(|mut row| row.remove(0))
            .collect();
        assert_eq!(described.iter().collect::<Vec<_>>(), settings.keys().collect::<Vec<_>>());
    }
}

/// `cargo xtask golden` brings the file up to date.
#[test]
fn openapi_file_matches_schema_and_http_page() {
    let written: Value = serde_json::from_str(&page("openapi.json")).expect("JSON");
    assert_eq!(written, schema("openapi"));
    let listed = page("http.md");
    for path in written["paths"].as_object().expect("an object").keys() {
        let shown = path.replace("{id}", "ID").replace("{name}", "NAME");
        let last = shown.rsplit('/').next().expect("a name");
        let known = listed.contains(&format!("{shown}`")) || listed.contains(&format!("`{last}`"));
        assert!(known, "{path} is not on the page");
    }
}

#[test]
fn script_agent_page_examples_can_be_played() {
    for row in table(&page("script-agent.md"), "## Steps") {
        let script = AgentScript::from_yaml(&format!("steps: [{}]", example(&row[1])));
        assert_eq!(script.expect("it is good").steps("", 1).len(), 1, "{}", row[1]);
        assert!(row[1].starts_with(&row[0]), "{row:?}");
    }
    let page = page("script-agent.md");
    let whole = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next());
    let script = AgentScript::from_yaml(whole.expect("an example")).expect("it is good");
    assert_eq!((script.steps("", 1).len(), script.steps("", 2).len()), (2, 3));
}

/// Makes a list entry from an example.
fn example(step: &str) -> String {
    if step.contains(':') { format!("{{{step}}}") } else { step.to_owned() }
}

#[test]
fn files_page_lists_every_format_number() {
    use adjutant_store::format;
    let listed: Vec<(String, String)> = table(&page("files.md"), "## Formats and upgrades")
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    let known = [
        ("folder", format::FOLDER_FORMAT),
        ("event log", format::EVENT_LOG_FORMAT),
        ("journal", format::JOURNAL_FORMAT),
        ("index", format::INDEX_FORMAT),
        ("archive", format::ARCHIVE_FORMAT),
        ("fleet protocol", format::FLEET_PROTOCOL),
    ];
    assert_eq!(listed, known.map(|(name, number)| (name.to_owned(), number.to_string())));
    let said = format!("This version speaks protocol {}.", format::FLEET_PROTOCOL);
    assert!(page("fleet.md").contains(&said), "{said}");
}

/// A new finding makes this a compile error: add it to the list below and to the page.
fn is_listed(code: FindingCode) -> bool {
    match code {
        FindingCode::TaskUnreadable
        | FindingCode::TaskOnHold
        | FindingCode::TaskInTwoFolders
        | FindingCode::StatusAtOdds
        | FindingCode::OrphanCompanion
        | FindingCode::LeftoverTemporary
        | FindingCode::StrayFile
        | FindingCode::RunInTwoFolders
        | FindingCode::TornEventTail
        | FindingCode::EventUnreadable
        | FindingCode::EventGap
        | FindingCode::EventChainBroken
        | FindingCode::EventLogBehind
        | FindingCode::GitTracksPrivate
        | FindingCode::JournalDamaged
        | FindingCode::JournalPending
        | FindingCode::FormatNewer
        | FindingCode::FormatUnreadable
        | FindingCode::NotifyTarget
        | FindingCode::SandboxUnavailable
        | FindingCode::GitUnusable
        | FindingCode::ConfigInvalid
        | FindingCode::ConfigUnaccepted
        | FindingCode::ProgramMissing
        | FindingCode::FleetUnreachable
        | FindingCode::FleetRecordBroken
        | FindingCode::FleetStreamAltered
        | FindingCode::FleetFolderDiffers
        | FindingCode::FleetProtocolDiffers => true,
    }
}

#[test]
fn files_page_lists_every_doctor_finding() {
    let codes = [
        FindingCode::TaskUnreadable,
        FindingCode::TaskOnHold,
        FindingCode::TaskInTwoFolders,
        FindingCode::StatusAtOdds,
        FindingCode::OrphanCompanion,
        FindingCode::LeftoverTemporary,
        FindingCode::StrayFile,
        FindingCode::RunInTwoFolders,
        FindingCode::TornEventTail,
        FindingCode::EventUnreadable,
        FindingCode::EventGap,
        FindingCode::EventChainBroken,
        FindingCode::EventLogBehind,
        FindingCode::GitTracksPrivate,
        FindingCode::JournalDamaged,
        FindingCode::JournalPending,
        FindingCode::FormatNewer,
        FindingCode::FormatUnreadable,
        FindingCode::NotifyTarget,
        FindingCode::SandboxUnavailable,
        FindingCode::GitUnusable,
        FindingCode::ConfigInvalid,
        FindingCode::ConfigUnaccepted,
        FindingCode::ProgramMissing,
        FindingCode::FleetUnreachable,
        FindingCode::FleetRecordBroken,
        FindingCode::FleetStreamAltered,
        FindingCode::FleetFolderDiffers,
        FindingCode::FleetProtocolDiffers,
    ];
    let known = codes.map(|code| {
        assert!(is_listed(code));
        let mended = if code.is_fixable() { "yes" } else { "no" };
        (code.as_str().to_owned(), mended.to_owned())
    });
    let rows = table(&page("files.md"), "## What the doctor finds");
    let listed: Vec<(String, String)> =
        rows.into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    assert_eq!(listed, known);
}

#[test]
fn stories_page_lists_steps_reasons_fields_and_commands() {
    use adjutant_model::story::{Step, StepFailReason, StoryHold};
    use adjutant_stories::files::{rules, state};
    let page = page("stories.md");
    let first = |heading: &str| -> Vec<String> {
        table(&page, heading).into_iter().map(|mut row| row.remove(0)).collect()
    };
    let row = |(step, rule): (Step, &adjutant_core::story::StepRule)| {
        let routes = rule.on_fail.iter().map(|(reason, to)| format!(", {reason}: `{to}`"));
        let failing = format!("`{}`{}", rule.next_on_fail, routes.collect::<String>());
        let minutes = Some(rule.timeout_min).filter(|minutes| *minutes > 0);
        let minutes = minutes.map_or("none".to_owned(), |minutes| minutes.to_string());
        let failing = failing.trim_matches('`').to_owned();
        let (next, attempts) = (rule.next_on_pass.to_string(), rule.max_attempts.to_string());
        vec![step.to_string(), next, failing, attempts, minutes]
    };
    assert_eq!(table(&page, "## Steps"), rules::defaults().iter().map(row).collect::<Vec<_>>());
    assert_eq!(first("## Reasons"), StepFailReason::ALL.map(StepFailReason::as_str));
    assert_eq!(first("## When a person is asked"), StoryHold::ALL.map(StoryHold::as_str));
    assert_eq!(first("## `STATE.json`"), [&state::FIELDS[..], &state::OWN_FIELDS].concat());
    assert!(Step::STORY.iter().all(|step| page.contains(step.as_str())));
    let help = adjutant().args(["story", "--help"]).output().expect("the command starts");
    let help = String::from_utf8(help.stdout).expect("text");
    let commands = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    let commands: Vec<String> = commands
        .expect("a list")
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .collect();
    let listed: Vec<String> = first("## Commands")
        .iter()
        .filter_map(|cell| Some(cell.split_whitespace().next()?.trim_matches('`').to_owned()))
        .collect();
    assert_eq!(listed, commands);
}

#[test]
fn commands_page_names_every_command() {
    let (commands_page, help) = (page("commands.md"), adjutant().arg("--help").output());
    let help = String::from_utf8(help.expect("the command starts").stdout).expect("text");
    let commands = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    // A description may continue on the next line, indented further.
    let first = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    for line in commands.expect("a list").lines().filter(first) {
        let name = line.split_whitespace().next().expect("a name");
        assert!(commands_page.contains(&format!("`{name}")), "{name}");
    }
}

/// Returns the modules of tests that the README names as `cargo xtask test CRATE::MODULE`.
fn named_test_modules(readme: &str) -> Vec<String> {
    let commands = readme.split("cargo xtask test ").skip(1);
    let parts = commands.flat_map(|rest| rest.split('`').next().unwrap_or_default().split(' '));
    parts.filter(|part| part.contains("::")).map(str::to_owned).collect()
}

#[test]
fn readme_names_tests_that_exist() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let modules = named_test_modules(&page("../README.md"));
    assert!(modules.len() > 5, "{modules:?}");
    for module in modules {
        let (name, path) = module.split_once("::").expect("a crate and a module");
        let file = format!("{}.rs", path.replace("::", "/"));
        let found = ["tests/it", "src/file/tests"].map(|folder| crates.join(name).join(folder));
        assert!(found.iter().any(|folder| folder.join(&file).exists()), "{module}");
    }
}

#[test]
fn readme_commands_print_what_it_shows() {
    let project = tempfile::tempdir().expect("a temporary folder");
    let shell = TutorialShell::new(project.path());
    shell.play(&page("../README.md"));
    assert_eq!(shell.run("cat title.txt"), "the title\n");
}

#[test]
fn tutorial_commands_print_what_it_shows() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    TutorialShell::new(folder.path()).play(&page("tutorial.md"));
}

/// The day of the task ids in the pages. The ids that are printed have another one.
const PAGE_DAY: &str = "2026-02-09";

/// Types the commands of a page into a shell, as a reader would.
struct TutorialShell<'a> {
    folder: &'a Path,
    path: OsString,
}

impl<'a> TutorialShell<'a> {
    fn new(folder: &'a Path) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_adjutant"));
        let own = program.parent().expect("a folder").to_owned();
        let others = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([own].into_iter().chain(std::env::split_paths(&others)));
        Self { folder, path: path.expect("a path") }
    }

    fn run(&self, script: &str) -> String {
        let mut shell = Command::new("sh");
        shell.current_dir(self.folder).env("PATH", &self.path).env("HOME", self.folder);
        shell.env_remove("ADJUTANT_DATA").env_remove("ADJUTANT_RUN_TOKEN");
        shell.env_remove("ADJUTANT_TRUST").env_remove("XDG_STATE_HOME");
        for role in ["AUTHOR", "COMMITTER"] {
            shell.env(format!("GIT_{role}_NAME"), "Reader");
            shell.env(format!("GIT_{role}_EMAIL"), "reader@example.com");
        }
        let output = shell.args(["-ec", script]).output().expect("a shell");
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Runs every block that is marked as runnable, and compares the output. All commands of a
    /// page are one session, so each starts in the folder that the last one left.
    fn play(&self, page: &str) {
        let blocks = page.split("\n```console runnable\n").skip(1);
        let blocks = blocks.map(|rest| rest.split("\n```").next().unwrap_or_default());
        let steps: Vec<(String, String)> = blocks.flat_map(typed_commands).collect();
        assert!(!steps.is_empty(), "no block is marked as runnable");
        self.run("pwd > .where");
        let mut day = PAGE_DAY.to_owned();
        for (command, expected) in steps {
            let command = command.replace(PAGE_DAY, &day);
            let script = format!("cd \"$(cat {0})\"\n{command}\npwd > {0}", self.where_file());
            let printed = self.run(&script);
            if let Some(id) = printed.strip_prefix("TASK-") {
                id[..PAGE_DAY.len()].clone_into(&mut day);
            }
            let expected = expected.replace(PAGE_DAY, &day);
            assert!(is_as_shown(printed.trim_end(), &expected), "{command}\n{printed}");
        }
    }

    fn where_file(&self) -> String {
        self.folder.join(".where").display().to_string()
    }
}

/// Returns the commands of a block with the output that the page shows: `$ ` starts a command,
/// `> ` continues it.
fn typed_commands(block: &str) -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push((command.to_owned(), String::new()));
            continue;
        }
        let (command, expected) = steps.last_mut().expect("a block starts with a command");
        let (to, text) = match line.strip_prefix('>') {
            Some(more) => (command, more.strip_prefix(' ').unwrap_or(more)),
            None => (expected, line),
        };
        if !to.is_empty() {
            to.push('\n');
        }
        to.push_str(text);
    }
    steps
}

/// Compares output with what a page shows. A line `…` stands for any lines, and nothing is shown of
/// a command whose output does not matter.
fn is_as_shown(printed: &str, shown: &str) -> bool {
    if shown.is_empty() {
        return true;
    }
    let parts: Vec<&str> = shown.split('…').map(|part| part.trim_matches('\n')).collect();
    match &parts[..] {
        [whole] => printed == *whole,
        [first, .., last] => printed.starts_with(first) && printed.ends_with(last),
        [] => true,
    }
}

#[test]
fn pages_have_one_sentence_a_line() {
    for name in PAGES {
        let mut code = false;
        for line in page(name).lines() {
            code ^= line.starts_with("```");
            let prose = !code && !line.starts_with(['|', '#', '`', '-']);
            assert!(!prose || !line.contains(". "), "{name}: {line}");
        }
    }
}

#[test]
fn pages_have_no_broken_links() {
    for name in PAGES {
        let text = page(name);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(!page(link).is_empty(), "{name}: {link}");
        }
    }
}
