//! The pages in `docs/` against the code they speak of.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use adjutant_core::answer::Reason;
use adjutant_core::dialect::{self, DocumentKind};
use adjutant_core::notice::Kind;
use adjutant_runtime::script::Script;
use adjutant_runtime::workspace::MANIFESTS;
use adjutant_store::file::doctor::Code;
use serde_json::Value;

const PAGES: [&str; 14] = [
    "aof1.md",
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
fn every_reason_is_listed_with_its_meaning_and_no_other() {
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
fn what_each_status_of_each_dialect_becomes_is_listed() {
    let listed = table(&page("dialects.md"), "## What each status becomes");
    let known: Vec<Vec<String>> = dialect::TABLE
        .iter()
        .map(|row| {
            let outcome = row.outcome.as_str();
            [row.dialect.as_str(), row.status, outcome, row.prefix.trim()].map(str::to_owned).into()
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
fn every_manifest_is_listed_and_no_other() {
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

/// Takes the quotes away that a name stands in.
fn bare(name: &str) -> String {
    name.trim_matches('`').to_owned()
}

#[test]
fn every_type_of_event_is_listed_with_its_payload_and_no_other() {
    let (page, schema) = (page("events.md"), schema("events"));
    let mut listed: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).collect();
    let mut known = Vec::new();
    for branch in schema["oneOf"].as_array().expect("a list") {
        let properties = &branch["properties"];
        let kind = properties["type"]["const"].as_str().expect("a type");
        let payload = properties["payload"]["$ref"].as_str().expect("a reference");
        let payload = &schema["$defs"][payload.trim_start_matches("#/$defs/")]["properties"];
        let fields: Vec<&String> =
            payload.as_object().into_iter().flatten().map(|(key, _)| key).collect();
        let described: Vec<String> = table(&page, &format!("### `{kind}`"))
            .into_iter()
            .map(|mut row| row.remove(0))
            .collect();
        assert_eq!(described.iter().collect::<Vec<_>>(), fields, "{kind}");
        known.push(kind);
    }
    listed.sort_unstable();
    known.sort_unstable();
    assert_eq!(listed, known);
}

#[test]
fn every_field_of_a_line_is_described() {
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
fn every_field_of_a_task_file_is_described() {
    let schema = schema("task");
    let mut fields = Vec::new();
    for (field, _) in schema["properties"].as_object().expect("an object") {
        let inner = match field.as_str() {
            "routing" => "Routing",
            "metadata" => "Metadata",
            _ => {
                fields.push(field.clone());
                continue;
            }
        };
        let inner = schema["$defs"][inner]["properties"].as_object().expect("an object");
        fields.extend(inner.keys().map(|key| format!("{field}.{key}")));
    }
    let described: Vec<String> = table(&page("files.md"), "## The task file")
        .into_iter()
        .map(|mut row| row.remove(0))
        .collect();
    assert_eq!(described, fields);
}

#[test]
fn everything_people_can_be_told_of_is_listed() {
    let listed: Vec<String> = table(&page("notifications.md"), "## What can be told")
        .into_iter()
        .map(|mut row| row.remove(0))
        .collect();
    let known = std::iter::once("inbox").chain(Kind::ALL.map(Kind::as_str));
    assert_eq!(listed, known.collect::<Vec<_>>());
}

#[test]
fn every_setting_is_described() {
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

/// `adjutant schema openapi > docs/openapi.json` brings it in line.
#[test]
fn the_description_of_the_http_interface_is_in_step() {
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
fn every_step_of_a_script_can_be_played_as_it_is_described() {
    for row in table(&page("script-agent.md"), "## Steps") {
        let script = Script::from_yaml(&format!("steps: [{}]", example(&row[1])));
        assert_eq!(script.expect("it is good").steps("", 1).len(), 1, "{}", row[1]);
        assert!(row[1].starts_with(&row[0]), "{row:?}");
    }
    let page = page("script-agent.md");
    let whole = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next());
    let script = Script::from_yaml(whole.expect("an example")).expect("it is good");
    assert_eq!((script.steps("", 1).len(), script.steps("", 2).len()), (2, 3));
}

/// Makes an entry of a list from an example.
fn example(step: &str) -> String {
    if step.contains(':') { format!("{{{step}}}") } else { step.to_owned() }
}

#[test]
fn every_format_number_is_listed() {
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

/// A new finding makes this a compile error: it needs a line in the list below and in the page.
fn is_listed(code: Code) -> bool {
    match code {
        Code::TaskUnreadable
        | Code::TaskInTwoFolders
        | Code::StatusAtOdds
        | Code::OrphanCompanion
        | Code::LeftoverTemporary
        | Code::StrayFile
        | Code::RunInTwoFolders
        | Code::TornEventTail
        | Code::EventUnreadable
        | Code::EventGap
        | Code::EventChainBroken
        | Code::JournalDamaged
        | Code::JournalPending
        | Code::FormatNewer
        | Code::FormatUnreadable
        | Code::NotifyTarget
        | Code::SandboxUnavailable
        | Code::FleetUnreachable
        | Code::FleetRecordBroken
        | Code::FleetStreamAltered
        | Code::FleetFolderDiffers
        | Code::FleetProtocolDiffers => true,
    }
}

#[test]
fn every_finding_of_the_doctor_is_listed() {
    let codes = [
        Code::TaskUnreadable,
        Code::TaskInTwoFolders,
        Code::StatusAtOdds,
        Code::OrphanCompanion,
        Code::LeftoverTemporary,
        Code::StrayFile,
        Code::RunInTwoFolders,
        Code::TornEventTail,
        Code::EventUnreadable,
        Code::EventGap,
        Code::EventChainBroken,
        Code::JournalDamaged,
        Code::JournalPending,
        Code::FormatNewer,
        Code::FormatUnreadable,
        Code::NotifyTarget,
        Code::SandboxUnavailable,
        Code::FleetUnreachable,
        Code::FleetRecordBroken,
        Code::FleetStreamAltered,
        Code::FleetFolderDiffers,
        Code::FleetProtocolDiffers,
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
fn the_page_about_stories_lists_what_there_is() {
    use adjutant_core::pipeline::{Hold, Reason, Step};
    use adjutant_store::story::{rules, state};
    let page = page("stories.md");
    let first = |heading: &str| -> Vec<String> {
        table(&page, heading).into_iter().map(|mut row| row.remove(0)).collect()
    };
    let row = |(step, rule): (Step, &adjutant_core::pipeline::Rule)| {
        let routes = rule.on_fail.iter().map(|(reason, to)| format!(", {reason}: `{to}`"));
        let failing = format!("`{}`{}", rule.next_on_fail, routes.collect::<String>());
        let minutes = Some(rule.timeout_min).filter(|minutes| *minutes > 0);
        let minutes = minutes.map_or("none".to_owned(), |minutes| minutes.to_string());
        let failing = failing.trim_matches('`').to_owned();
        let (next, attempts) = (rule.next_on_pass.to_string(), rule.max_attempts.to_string());
        vec![step.to_string(), next, failing, attempts, minutes]
    };
    assert_eq!(table(&page, "## Steps"), rules::defaults().iter().map(row).collect::<Vec<_>>());
    assert_eq!(first("## Reasons"), Reason::ALL.map(Reason::as_str));
    assert_eq!(first("## When a person is asked"), Hold::ALL.map(Hold::as_str));
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
fn every_command_is_in_the_readme() {
    let (readme, help) = (page("../README.md"), adjutant().arg("--help").output());
    let help = String::from_utf8(help.expect("the command starts").stdout).expect("text");
    let commands = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    // A description may go on in the next line, further in.
    let first = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    for line in commands.expect("a list").lines().filter(first) {
        let name = line.split_whitespace().next().expect("a name");
        assert!(readme.contains(&format!("`{name}")), "{name}");
    }
}

/// What a reader of the README types gives what it says, on whatever day.
#[test]
fn the_readme_can_be_typed() {
    const WRITTEN: &str = "TASK-2026-02-09-001";
    let project = tempfile::tempdir().expect("a temporary folder");
    let adjutant = std::path::Path::new(env!("CARGO_BIN_EXE_adjutant"));
    let path = std::env::join_paths(
        [adjutant.parent().expect("a folder").to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let path = path.expect("a path");
    let sh = |line: &str| {
        let mut shell = Command::new("sh");
        shell.current_dir(&project).env("PATH", &path);
        shell.env_remove("ADJUTANT_DATA").env_remove("ADJUTANT_RUN_TOKEN");
        let output = shell.args(["-c", line]).output().expect("a shell");
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let readme = page("../README.md");
    let block = |opening: &str| {
        let rest = readme.split(opening).nth(1).expect("the block is there");
        rest.split("\n```").next().unwrap_or_default().to_owned()
    };
    let mut id = WRITTEN.to_owned();
    for step in block("```\n$ ").split("\n$ ") {
        let (line, expected) = step.split_once('\n').unwrap_or((step, ""));
        let said = sh(&line.replace(WRITTEN, &id));
        if line.ends_with("init") {
            std::fs::write(project.path().join("title.txt"), "teh title\n").expect("written");
            let agent = format!("\n{}\n", block("```toml\n"));
            append(&project.path().join(".adjutant/adjutant.toml"), &agent);
            append(&project.path().join("fix.sh"), &format!("{}\n", block("```sh\n")));
            sh("chmod +x fix.sh");
        }
        if line.contains("task add") {
            id = said.split(' ').next().expect("an id").to_owned();
        }
        let expected = expected.replace(WRITTEN, &id);
        assert!(expected.is_empty() || said.trim_end() == expected, "{line}: {said}");
    }
    assert_eq!(sh("cat title.txt"), "the title\n");
}

fn append(path: &std::path::Path, text: &str) {
    let was = std::fs::read_to_string(path).unwrap_or_default();
    std::fs::write(path, was + text).expect("written");
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
fn links_between_pages_lead_somewhere() {
    for name in PAGES {
        let text = page(name);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(!page(link).is_empty(), "{name}: {link}");
        }
    }
}
