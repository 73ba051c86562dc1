//! The board's pages and forms, as a browser requests and sends them.

use serde_json::json;

use crate::http::consent;
use crate::http::project::{HttpProject, HttpReply, SignedInBrowser};

const AGENT: &str = r#"
[scheduler]
backoff = "10m"
[agents.actor]
kind = "script"
script = ".adjutant/actor.yaml"
"#;

fn stage(script: &str) -> HttpProject {
    let stage = HttpProject::with_settings(AGENT);
    std::fs::write(stage.path("actor.yaml"), script).expect("written");
    stage
}

fn status(stage: &HttpProject, id: &str) -> String {
    stage.json(&["task", "show", id])["status"].as_str().unwrap_or_default().to_owned()
}

fn goes_to(reply: &HttpReply, place: &str) {
    assert_eq!((reply.status, reply.header("location")), (303, Some(place)), "{reply:?}");
}

#[test]
fn board_task_is_created_reviewed_rejected_and_approved() {
    let stage =
        stage("steps: [{print: hello there}, {report: {outcome: done, notes: All of it.}}]\n");
    let up = stage.up();
    let browser = SignedInBrowser::new(&up);
    let fields = [
        ("title", "Fix <b>it</b>"),
        ("body", "In *full*."),
        ("priority", "high"),
        ("agent", "actor"),
        ("status", "ready"),
    ];
    goes_to(&browser.submit("/tasks/new", "/tasks", &fields), "/?did=add");
    stage.wait_for("run.exited", 1);
    let tasks = stage.json(&["task", "list"]);
    let id = tasks[0]["id"].as_str().expect("an id").to_owned();
    let board = browser.page("/?did=add");
    assert!(
        board.contains("Task created.") && board.contains("Fix &lt;b&gt;it&lt;/b&gt;"),
        "{board}"
    );
    let page = browser.page(&format!("/tasks/{id}"));
    for part in ["hello there", "<em>full</em>", "run.started", ">review<"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let checked = [
        ("title", "Checked"),
        ("priority", "low"),
        ("status", "backlog"),
        ("checks", "make check\r\n\r\n  test -e made\r\n"),
    ];
    goes_to(&browser.submit("/tasks/new", "/tasks", &checked), "/?did=add");
    let later = stage.json(&["task", "list", "--status", "backlog"]);
    assert_eq!(later[0]["metadata"]["checks"], json!(["make check", "test -e made"]), "{later}");
    let place = format!("/tasks/{id}");
    let reject = format!("{place}/reject");
    let empty = browser.submit(&place, &reject, &[("text", "  ")]);
    assert_eq!(empty.status, 409, "{empty:?}");
    assert_eq!(status(&stage, &id), "review");
    goes_to(
        &browser.submit(&place, &reject, &[("text", "Shorter, please.")]),
        &format!("{place}?did=reject").to_lowercase(),
    );
    stage.wait_for("run.exited", 2);
    goes_to(
        &browser.submit("/inbox", &format!("{place}/approve"), &[("text", "")]),
        "/inbox?did=approve",
    );
    assert_eq!(status(&stage, &id), "done");
    let again = browser.post(&format!("{place}/approve"), &[("csrf", "x")]);
    again.assert_problem(403, "forged_request");
    assert!(browser.page("/inbox").contains("The inbox is empty."));
}

#[test]
fn board_task_that_no_agent_can_run_is_created_with_its_reason() {
    let stage = HttpProject::with_settings(AGENT);
    let up = stage.up();
    let browser = SignedInBrowser::new(&up);
    for (title, start) in [("One", "ready"), ("Two", "backlog")] {
        let fields =
            [("title", title), ("priority", "normal"), ("agent", "fixer"), ("status", start)];
        let reply = browser.submit("/tasks/new", "/tasks", &fields);
        let place = reply.header("location").expect("a redirect").to_owned();
        assert!(place.ends_with("?did=add-unroutable"), "{place}");
        let page = browser.page(&place.replace("task-", "TASK-"));
        for part in ["Task created. No configured agent can run it", "no agent named"] {
            assert!(page.to_lowercase().contains(&part.to_lowercase()), "{part}: {page}");
        }
    }
    let inbox = browser.page("/inbox");
    for title in ["One: no agent named", "Two: no agent named"] {
        assert!(inbox.contains(title), "{title}: {inbox}");
    }
}

#[test]
fn board_answers_question_and_cancels_task() {
    let stage = stage("steps: [{report: {outcome: blocked, blockers: [MIT or Apache?]}}]\n");
    let id = stage.add(&["Ask", "--agent", "actor", "--status", "ready"]);
    let up = stage.up();
    let browser = SignedInBrowser::new(&up);
    stage.wait_for("run.exited", 1);
    let inbox = browser.page("/inbox");
    assert!(inbox.contains("MIT or Apache?"), "{inbox}");
    let answer = format!("/tasks/{id}/answer");
    goes_to(&browser.submit("/inbox", &answer, &[("text", "MIT")]), "/inbox?did=answer");
    stage.wait_for("run.exited", 2);
    assert_eq!(stage.events("task.answered").len(), 1);
    let cancel = format!("/tasks/{id}/cancel");
    goes_to(&browser.submit("/inbox", &cancel, &[]), "/inbox?did=cancel");
    assert_eq!(status(&stage, &id), "cancelled");
}

#[test]
fn board_approves_several_reviews_at_once() {
    let stage = HttpProject::new();
    let ids = ["One", "Two", "Three"].map(|title| stage.add(&[title, "--status", "ready"]));
    for id in &ids {
        stage.ok(&["task", "move", id, "in-progress"]);
        stage.ok(&["task", "move", id, "review"]);
    }
    let up = stage.up();
    let browser = SignedInBrowser::new(&up);
    let none = browser.submit("/inbox", "/inbox", &[("act", "approve")]);
    assert_eq!(none.status, 409, "{none:?}");
    let two = [("act", "approve"), ("task", ids[0].as_str()), ("task", ids[1].as_str())];
    let place = format!("/inbox?did=approve&about={},{}", ids[0], ids[1]);
    goes_to(&browser.submit("/inbox", "/inbox", &two), &place.to_lowercase());
    let inbox = browser.page(&place);
    for id in &ids[..2] {
        assert!(inbox.contains(&format!("{id}: approved")), "{inbox}");
    }
    assert_eq!(ids.each_ref().map(|id| status(&stage, id)), ["done", "done", "review"]);
}

#[test]
fn board_pages_need_sign_in() {
    let stage = HttpProject::new();
    let id = stage.add(&["One"]);
    let up = stage.up();
    let task = format!("/tasks/{id}");
    let pages = [
        "/",
        "/inbox",
        "/stories",
        "/agents",
        "/record",
        "/figures",
        "/figures?span=month",
        "/tasks/new",
        &*task,
    ];
    let browser = SignedInBrowser::new(&up);
    for page in pages {
        let shown = browser.get(page);
        assert_eq!(shown.status, 200, "{page}: {shown:?}");
        let text = shown.text();
        assert!(!text.contains(" style=\"") && !text.contains("<script>"), "{page}: inline");
        let stranger = up.call_with("GET", page, &[], b"");
        assert_eq!(stranger.status, 303, "{page}");
        let login = stranger.header("location").expect("a redirect");
        assert!(login == "/login" || login.starts_with("/login?next=%2f"), "{page}: {login}");
    }
    for (wrong, code) in [
        ("/tasks/TASK-2026-01-01-999", "task_not_found"),
        ("/nowhere", "not_found"),
        ("/assets/style.css", "not_found"),
    ] {
        browser.get(wrong).assert_problem(404, code);
        let headers = [("Cookie", &*browser.cookie), ("Accept", "text/html,*/*;q=0.8")];
        let page = up.call_with("GET", wrong, &headers, b"");
        let kind = page.header("content-type").map(str::to_owned);
        assert_eq!((page.status, kind.as_deref()), (404, Some("text/html; charset=utf-8")));
        assert!(page.text().contains("Open the board"), "{wrong}: {}", page.text());
    }
    let board = browser.page("/");
    for asset in ["style", "script", "icon"] {
        let path = board.split('"').find(|part| part.starts_with(&format!("/assets/{asset}.")));
        let got = up.call_with("GET", path.expect("it is referred to"), &[], b"");
        assert_eq!(got.status, 200, "{asset}");
        assert!(got.header("cache-control").is_some_and(|kept| kept.contains("immutable")));
    }
}

#[test]
fn board_shows_task_files_as_text_and_follows_no_links() {
    let stage = HttpProject::new();
    let id = stage.add(&["One"]);
    let outputs = stage.path(&format!("tasks/backlog/{id}/outputs"));
    std::fs::create_dir_all(&outputs).expect("made");
    std::fs::write(outputs.join("page.html"), "<script>alert(1)</script>").expect("written");
    std::os::unix::fs::symlink("/etc/passwd", outputs.join("link")).expect("linked");
    std::os::unix::fs::symlink("/etc", outputs.join("far")).expect("linked");
    let up = stage.up();
    let browser = SignedInBrowser::new(&up);
    let page = browser.page(&format!("/tasks/{id}"));
    assert!(page.contains("outputs/page.html") && !page.contains("outputs/link"), "{page}");
    let shown = browser.get(&format!("/tasks/{id}/files/outputs/page.html"));
    assert_eq!(
        (shown.status, shown.header("content-type")),
        (200, Some("text/plain; charset=utf-8"))
    );
    assert_eq!(shown.header("x-content-type-options"), Some("nosniff"));
    for path in [
        "outputs/link",
        "outputs/far/passwd",
        "../../../adjutant.toml",
        "outputs%2F..%2F..%2F..%2F..%2Foperator-token",
        "outputs",
        "",
    ] {
        let refused = browser.get(&format!("/tasks/{id}/files/{path}"));
        assert_eq!(refused.status, 404, "{path}: {refused:?}");
    }
}

#[test]
fn board_search_finds_text_in_long_log_and_long_columns() {
    let stage = stage(
        "steps: [{flood: {bytes: 3000000, of: lines}}, {print: the needle}, {report: done}]\n",
    );
    for number in 0..40 {
        stage.add(&[&format!("Task {number}")]);
    }
    let id = stage.add(&["Flood", "--agent", "actor", "--status", "ready"]);
    let up = stage.up();
    let browser = SignedInBrowser::new(&up);
    stage.wait_for("run.exited", 1);
    let found = browser.page(&format!("/tasks/{id}?find=NEEDLE"));
    assert!(found.contains("1 line with") && found.contains("<mark>needle</mark>"));
    assert!(found.len() < 400_000, "only the end of it is sent: {}", found.len());
    let board = browser.page("/");
    assert_eq!(board.matches("class=\"card\"").count(), 26);
    let rest = browser.page("/?status=backlog");
    assert_eq!(rest.matches("class=\"card\"").count(), 40);
    assert_eq!(browser.page("/?q=task+39").matches("class=\"card\"").count(), 1);
    assert_eq!(browser.get("/?status=nonsense").status, 422);
}

#[test]
fn board_asks_for_consent_to_protected_paths() {
    let stage = consent::repository();
    let up = stage.up();
    let id = consent::reviewed(&stage, &up);
    let browser = SignedInBrowser::new(&up);
    for page in ["/inbox".to_owned(), format!("/tasks/{id}")] {
        let text = browser.page(&page);
        let form = text.split("<form").find(|form| form.contains("/approve-protected\""));
        let form = form.unwrap_or_else(|| panic!("{page}: {text}"));
        assert!(form.contains("type=\"checkbox\"") && form.contains("required"), "{form}");
        assert!(form.contains(consent::RULES), "{form}");
        assert!(!text.contains(&format!("/tasks/{id}/approve\"")), "{text}");
    }
    let action = format!("/tasks/{id}/approve-protected");
    let nothing = browser.submit("/inbox", &action, &[]);
    assert!(nothing.text().contains("Nothing was done"), "{nothing:?}");
    assert_eq!(status(&stage, &id), "review");
    let approved = browser.submit("/inbox", &action, &[("consent", "yes")]);
    let place = approved.header("location").expect("a redirect").replace("task-", "TASK-");
    assert!(place.starts_with(&format!("/inbox?did=approve-protected&about={id}.")), "{place}");
    stage.wait_for("work.merged", 1);
    let merged = stage.events("work.merged")[0]["payload"]["commit"].clone();
    let merged = &merged.as_str().expect("a commit")[..12];
    let inbox = browser.page(&place);
    assert!(inbox.contains(&format!("{id}: merged as {merged}")), "{inbox}");
}

#[test]
fn board_accepts_checks_of_a_task_file() {
    let stage = HttpProject::new();
    let id = stage.add(&["Do it"]);
    let file = stage.path(&format!("tasks/backlog/{id}.md"));
    let text = std::fs::read_to_string(&file).expect("a file");
    let checks = "\nmetadata:\n  checks:\n    - make \"it\"\n---\n";
    std::fs::write(&file, text.replacen("\n---\n", checks, 1)).expect("written");
    let up = stage.up();
    stage.wait_for("task.edited", 1);
    let browser = SignedInBrowser::new(&up);
    assert!(browser.page("/inbox").contains("make &quot;it&quot;"));
    let action = format!("/tasks/{id}/accept-checks");
    let reply = browser.submit("/inbox", &action, &[]);
    assert_eq!(stage.events("task.checks.accepted").len(), 1, "{reply:?}");
}
