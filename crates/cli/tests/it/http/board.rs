//! The board without script: pages, and forms that do what they say.

use serde_json::json;

use crate::http::stage::{Reply, Stage, Up};

/// A browser that signed in, and runs no script.
struct Browser<'a> {
    up: &'a Up,
    cookie: String,
}

impl<'a> Browser<'a> {
    fn sign_in(up: &'a Up) -> Self {
        let path = up.login.strip_prefix(&up.url).expect("a path");
        let signed = up.call_with("GET", path, &[], b"");
        let cookie = signed.header("set-cookie").expect("a cookie");
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        Self { up, cookie }
    }

    fn get(&self, path: &str) -> Reply {
        self.up.call_with("GET", path, &[("Cookie", &self.cookie)], b"")
    }

    fn page(&self, path: &str) -> String {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        reply.text()
    }

    fn post(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let form = ("Content-Type", "application/x-www-form-urlencoded");
        let body: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
        let headers = [form, ("Cookie", &*self.cookie)];
        self.up.call_with("POST", path, &headers, body.join("&").as_bytes())
    }

    /// Sends a form that a page has, with what a person writes into it.
    fn submit(&self, page: &str, action: &str, written: &[(&str, &str)]) -> Reply {
        let page = self.page(page);
        let form = page.split("<form").find(|form| form.contains(&format!("action=\"{action}\"")));
        let form = form.unwrap_or_else(|| panic!("no form for {action}: {page}"));
        let form = form.split("</form>").next().unwrap_or_default();
        let inputs = form.split("<input type=\"hidden\" ").skip(1);
        let hidden = inputs.map(|input| (attribute(input, "name"), attribute(input, "value")));
        let hidden: Vec<(String, String)> = hidden.collect();
        let hidden = hidden.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        self.post(action, &hidden.chain(written.iter().copied()).collect::<Vec<_>>())
    }
}

fn attribute(input: &str, name: &str) -> String {
    let value = input.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
    value.unwrap_or_default().to_owned()
}

fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    let one =
        |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

const AGENT: &str = r#"
[scheduler]
backoff = "10m"
[agents.actor]
kind = "script"
script = ".adjutant/actor.yaml"
"#;

fn stage(script: &str) -> Stage {
    let stage = Stage::with(AGENT);
    std::fs::write(stage.path("actor.yaml"), script).expect("written");
    stage
}

fn status(stage: &Stage, id: &str) -> String {
    stage.json(&["task", "show", id])["status"].as_str().unwrap_or_default().to_owned()
}

fn goes_to(reply: &Reply, place: &str) {
    assert_eq!((reply.status, reply.header("location")), (303, Some(place)), "{reply:?}");
}

#[test]
fn a_task_is_made_reviewed_sent_back_and_approved_without_script() {
    let stage =
        stage("steps: [{print: hello there}, {report: {outcome: done, notes: All of it.}}]\n");
    let up = stage.up();
    let browser = Browser::sign_in(&up);
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
        board.contains("The task is there.") && board.contains("Fix &lt;b&gt;it&lt;/b&gt;"),
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
    again.is_problem(403, "forged_request");
    assert!(browser.page("/inbox").contains("Nothing waits for you."));
}

#[test]
fn a_question_is_answered_and_what_was_given_up_is_tried_again() {
    let stage = stage("steps: [{report: {outcome: blocked, blockers: [MIT or Apache?]}}]\n");
    let id = stage.add(&["Ask", "--agent", "actor", "--status", "ready"]);
    let up = stage.up();
    let browser = Browser::sign_in(&up);
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
fn several_reviews_are_settled_at_once() {
    let stage = Stage::new();
    let ids = ["One", "Two", "Three"].map(|title| stage.add(&[title, "--status", "ready"]));
    for id in &ids {
        stage.ok(&["task", "move", id, "in-progress"]);
        stage.ok(&["task", "move", id, "review"]);
    }
    let up = stage.up();
    let browser = Browser::sign_in(&up);
    let none = browser.submit("/inbox", "/inbox", &[("act", "approve")]);
    assert_eq!(none.status, 409, "{none:?}");
    let two = [("act", "approve"), ("task", ids[0].as_str()), ("task", ids[1].as_str())];
    goes_to(&browser.submit("/inbox", "/inbox", &two), "/inbox?did=approve");
    assert_eq!(ids.each_ref().map(|id| status(&stage, id)), ["done", "done", "review"]);
}

#[test]
fn every_page_is_there_for_who_signed_in_and_nobody_else() {
    let stage = Stage::new();
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
    let browser = Browser::sign_in(&up);
    for page in pages {
        let shown = browser.get(page);
        assert_eq!(shown.status, 200, "{page}: {shown:?}");
        let text = shown.text();
        assert!(!text.contains(" style=\"") && !text.contains("<script>"), "{page}: inline");
        let stranger = up.call_with("GET", page, &[], b"");
        assert_eq!((stranger.status, stranger.header("location")), (303, Some("/login")), "{page}");
    }
    for wrong in ["/tasks/TASK-2026-01-01-999", "/nowhere", "/assets/style.css"] {
        assert_eq!(browser.get(wrong).status, 404, "{wrong}");
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
fn files_of_a_task_are_shown_as_text_and_never_from_elsewhere() {
    let stage = Stage::new();
    let id = stage.add(&["One"]);
    let outputs = stage.path(&format!("tasks/backlog/{id}/outputs"));
    std::fs::create_dir_all(&outputs).expect("made");
    std::fs::write(outputs.join("page.html"), "<script>alert(1)</script>").expect("written");
    std::os::unix::fs::symlink("/etc/passwd", outputs.join("link")).expect("linked");
    std::os::unix::fs::symlink("/etc", outputs.join("far")).expect("linked");
    let up = stage.up();
    let browser = Browser::sign_in(&up);
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
fn what_is_looked_for_is_found_in_a_long_log_and_in_long_columns() {
    let stage = stage(
        "steps: [{flood: {bytes: 3000000, of: lines}}, {print: the needle}, {report: done}]\n",
    );
    for number in 0..40 {
        stage.add(&[&format!("Task {number}")]);
    }
    let id = stage.add(&["Flood", "--agent", "actor", "--status", "ready"]);
    let up = stage.up();
    let browser = Browser::sign_in(&up);
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
