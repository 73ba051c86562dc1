//! Golden files of the structure of every board page, in several states of a project.

use std::collections::BTreeSet;

use adjutant_test_support::golden::GoldenFolder;
use regex::Regex;

use super::markup::{links, structure};
use super::project::{GoldenProject, wait_until, with_ids};
use super::server::{GoldenServer, HttpCall};
use crate::http::project::HttpReply;

const SETTINGS: &str = "\
[scheduler]
concurrency = 1
attempts_max = 1
grace = \"1s\"

[project]
checks = [\"test -f notes.txt\"]
merge = \"rebase\"

[agents.swe]
kind = \"command\"
sandbox = \"none\"
command = [\"sh\", \"../../../swe.sh\"]
workspace = \"worktree\"
on_exit_ok = \"done\"

[agents.actor]
kind = \"script\"
script = \"actor.yaml\"
";

const SWE: &str = "cat > /dev/null\necho 'adds a line'\necho four >> notes.txt\n";

const ACTOR: &str = "\
tasks:
  {2}:
    steps: [{adjutant: [report, blocked, --blocker, 'Which grammar?']}]
  {3}:
    steps: [{complain: no oil}, {exit: 3}]
steps: [{print: at work}, hang]
";

/// A signed-in browser without JavaScript, and the pages that it has requested.
struct GoldenBrowser<'a> {
    project: &'a GoldenProject,
    server: &'a GoldenServer<'a>,
    cookie: String,
    state: &'static str,
    folder: &'a mut GoldenFolder,
    /// The paths of the recorded pages, without their queries.
    seen: BTreeSet<String>,
    links: BTreeSet<String>,
}

impl<'a> GoldenBrowser<'a> {
    fn sign_in(
        project: &'a GoldenProject,
        server: &'a GoldenServer<'a>,
        state: &'static str,
        folder: &'a mut GoldenFolder,
    ) -> Self {
        // The sign-in page is recorded without a cookie.
        let (seen, links) = (BTreeSet::from(["/login".to_owned()]), BTreeSet::new());
        Self { project, server, cookie: server.sign_in(), state, folder, seen, links }
    }

    fn get(&self, path: &str) -> HttpReply {
        let headers = vec![("Cookie", self.cookie.clone()), ("Accept", "text/html".to_owned())];
        self.server.call(&HttpCall { method: "GET", path, headers, body: "" })
    }

    /// Records the structure of a page as a golden file.
    fn record(&mut self, name: &str, path: &str) {
        let path = with_ids(path);
        let reply = self.get(&path);
        let page = reply.text();
        let text = format!("GET {path}\n{}\n\n{}", reply.status, structure(&page));
        self.folder.add(format!("{}/{name}.txt", self.state), masked(self.project, &text));
        self.seen.insert(pattern(&path));
        let pages = links(&page).into_iter().filter(|link| !link.starts_with("/v1/"));
        self.links.extend(pages.map(|link| pattern(&link)));
    }

    /// Asserts that every linked page was recorded.
    fn check_links(&self) {
        let missing: Vec<_> = self.links.difference(&self.seen).collect();
        assert!(missing.is_empty(), "pages without a golden file: {missing:?}");
    }
}

/// Returns the path of a link, with task ids replaced and without the query.
fn pattern(link: &str) -> String {
    let path = link.split(['?', '#']).next().unwrap_or_default();
    let ids = Regex::new(r"TASK-\d{4}-\d\d-\d\d-\d+").expect("a good expression");
    let files = Regex::new(r"/files/.*").expect("a good expression");
    files.replace(&ids.replace_all(path, "{id}"), "/files/{path}").into_owned()
}

/// Replaces the parts of a page that differ between test runs.
fn masked(project: &GoldenProject, text: &str) -> String {
    let rules = [
        (r#"(data-csrf=")[^"]+"#, "$1<PROOF>"),
        (r#"(<rect [^>]*) y="[\d.]+" height="[\d.]+""#, r#"$1 y="<Y>" height="<HEIGHT>""#),
        (r"average: \d+ (ms|s|min)", "average: <SPAN>"),
        (r#"(<path [^>]*d=")[^"]+"#, "$1<PATH>"),
        (r"(?m)^( *)\d+ (ms|s|min)$", "$1<SPAN>"),
    ];
    let text = project.masked(text);
    rules.iter().fold(text, |text, (rule, name)| {
        let rule = Regex::new(rule).expect("a good expression");
        rule.replace_all(&text, *name).into_owned()
    })
}

#[test]
fn board_pages_match_golden_files() {
    let mut folder = GoldenFolder::new("board");
    record_empty(&mut folder);
    record_filled(&mut folder);
    folder.check();
}

const PAGES: [(&str, &str); 7] = [
    ("board", "/"),
    ("inbox", "/inbox"),
    ("stories", "/stories"),
    ("agents", "/agents"),
    ("record", "/record"),
    ("figures", "/figures"),
    ("new-task", "/tasks/new"),
];

fn record_empty(folder: &mut GoldenFolder) {
    let project = GoldenProject::new();
    let server = GoldenServer::start(&project);
    let mut browser = GoldenBrowser::sign_in(&project, &server, "empty", folder);
    for (name, path) in PAGES {
        browser.record(name, path);
    }
    browser.record("no-such-page", "/nowhere");
    browser.record("no-such-task", "/tasks/{1}");
    browser.check_links();
    browser.cookie = String::new();
    browser.record("sign-in", "/login");
}

fn record_filled(folder: &mut GoldenFolder) {
    let project = GoldenProject::with_settings(SETTINGS);
    project.init_git();
    project.write("swe.sh", SWE);
    project.write("actor.yaml", ACTOR);
    for (title, agent) in [("Extend", "swe"), ("Ask", "actor"), ("Fail", "actor")] {
        project.ok(&format!("task add {title} --agent {agent} --status ready --body 'In *full*.'"));
    }
    project.ok("up --until-idle");
    project.ok("task add 'In the backlog' --priority high --tag parser --due 2031-01-01T00:00:00Z");
    project.ok("task add 'Never <b>run</b>' --depends-on {4} --parent {4} --status ready");
    project.ok("task add 'Cancelled'");
    project.ok("task cancel {6} --reason 'not needed'");
    project.ok("task add 'Done' --status ready");
    project.ok("task move {7} in-progress");
    project.ok("task move {7} review");
    project.ok("approve {7}");
    project.write(".adjutant/tasks/review/{1}/outputs/summary.md", "A *summary*.\n");
    project.ok("story start US-005 --project .");
    project.ok("task add 'Running' --agent actor --status ready --priority critical");
    let server = GoldenServer::start(&project);
    let log = project.path(".adjutant/runs/{9}/attempts/1/output.log");
    let printed = || std::fs::read_to_string(&log).unwrap_or_default();
    wait_until("the agent is at work", || printed().contains("at work"));
    let mut browser = GoldenBrowser::sign_in(&project, &server, "filled", folder);
    for (name, path) in PAGES {
        browser.record(name, path);
    }
    for (name, path) in [
        ("task-in-review", "/tasks/{1}"),
        ("task-with-question", "/tasks/{2}"),
        ("task-given-up", "/tasks/{3}"),
        ("task-in-backlog", "/tasks/{4}"),
        ("task-waiting", "/tasks/{5}"),
        ("task-cancelled", "/tasks/{6}"),
        ("task-done", "/tasks/{7}"),
        ("task-of-story", "/tasks/{8}"),
        ("task-running", "/tasks/{9}"),
        ("task-output-search", "/tasks/{1}?find=line"),
        ("task-file", "/tasks/{1}/files/outputs/summary.md"),
        ("board-search", "/?q=extend"),
        ("board-after-approve", "/?did=approve"),
        ("record-of-task", "/record?task={1}"),
    ] {
        browser.record(name, path);
    }
    browser.check_links();
}
