//! Browser sessions: how they begin, what they may do, and how they end.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::http::project::{HttpProject, HttpReply, ListeningDaemon, PATIENCE, SignedInBrowser};

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

fn anonymous(up: &ListeningDaemon, path: &str) -> HttpReply {
    up.call_with("GET", path, &[], b"")
}

#[test]
fn sign_in_link_works_once() {
    let stage = HttpProject::new();
    let up = stage.up();
    let path = up.login.strip_prefix(&up.url).expect("a path").to_owned();
    assert_eq!(anonymous(&up, "/login?code=0").status, 401, "another code");
    let signed_in = anonymous(&up, &path);
    assert_eq!(signed_in.status, 200, "{signed_in:?}");
    let cookie = signed_in.header("set-cookie").expect("a cookie");
    for part in ["; httponly", "; samesite=lax", "; path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert_eq!(anonymous(&up, &path).status, 401, "the link is good for once");
    let wrong = up.call_with("POST", "/login", &[FORM], b"token=wrong");
    assert_eq!(wrong.status, 401);
    let right = up.call_with("POST", "/login", &[FORM], format!("token={}", up.token).as_bytes());
    assert_eq!(SignedInBrowser::from_reply(&up, &right).get("/v1/tasks").status, 200);
    let page = anonymous(&up, "/login");
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(!page.text().contains("<script>") && !page.text().contains("style="), "{page:?}");
}

#[test]
fn sign_in_link_of_an_earlier_daemon_is_refused() {
    let stage = HttpProject::new();
    let first = stage.up();
    let (used, unused) = (first.login.clone(), stage.json(&["open"])["login"].clone());
    let place = first.authority().to_owned();
    SignedInBrowser::new(&first);
    drop(first);
    let next = stage.up_with(&["--listen", &place]);
    for link in [used.as_str(), unused.as_str().expect("a link")] {
        let path = link.strip_prefix(&next.url).expect("a path");
        assert_eq!(anonymous(&next, path).status, 401, "{link}");
    }
}

#[test]
fn cookie_alone_changes_nothing() {
    let stage = HttpProject::new();
    let id = stage.add(&["One", "--status", "ready"]);
    for to in ["in-progress", "review"] {
        stage.ok(&["task", "move", &id, to]);
    }
    let up = stage.up();
    let browser = SignedInBrowser::new(&up);
    assert!(browser.csrf.len() >= 32, "{}", browser.csrf);
    // A caller with the cookie can read every page, and no page contains the proof.
    let asset = |page: &str| {
        page.split('"').find(|part| part.contains("/assets/script.")).map(str::to_owned)
    };
    let script = asset(&browser.page("/")).expect("a script");
    let readable = [
        "/",
        "/inbox",
        "/stories",
        "/agents",
        "/record",
        "/figures",
        "/tasks/new",
        "/login",
        "/v1/tasks",
        "/v1/status",
        "/v1/events",
        &script,
        &format!("/tasks/{id}"),
    ];
    for path in readable {
        let reply = browser.get(path);
        assert_eq!(reply.status, 200, "{path}");
        assert!(!reply.text().contains(&browser.csrf), "{path} has the proof");
        assert!(!reply.head.contains(&browser.csrf), "{path} has the proof");
    }
    let approve = format!("/tasks/{id}/approve");
    let forms = [
        (&*approve, vec![]),
        (&approve, vec![("csrf", "guess")]),
        (&approve, vec![("csrf", browser.cookie.split_once('=').expect("a value").1)]),
        ("/tasks", vec![("title", "x"), ("priority", "low")]),
        ("/inbox", vec![("act", "approve"), ("task", &*id)]),
        ("/stories", vec![("story", "US-001")]),
        ("/stories/US-001/approve", vec![]),
        ("/logout", vec![]),
        ("/v1/tasks", vec![]),
        (&*format!("/v1/tasks/{id}/approve"), vec![]),
        ("/mcp", vec![]),
    ];
    for (path, fields) in forms {
        browser.post(path, &fields).assert_problem(403, "forged_request");
    }
    let call = |extra: &[(&str, &str)]| {
        let headers = [&[("Cookie", &*browser.cookie)], extra].concat();
        up.call_with("POST", "/v1/tasks", &headers, br#"{"title": "x"}"#)
    };
    call(&[]).assert_problem(403, "forged_request");
    call(&[("X-CSRF-Token", "guess")]).assert_problem(403, "forged_request");
    call(&[("Content-Type", "text/plain")]).assert_problem(403, "forged_request");
    assert_eq!(stage.json(&["task", "list"])[0]["status"], "review");
    assert_eq!(stage.json(&["task", "list"]).as_array().map(Vec::len), Some(1));
    // With the proof, both ways work.
    assert_eq!(call(&[("X-CSRF-Token", &browser.csrf)]).status, 201);
    assert_eq!(browser.post_signed(&approve, &[]).status, 303);
    assert_eq!(stage.json(&["task", "show", &id])["status"], "done");
    assert_eq!(stage.wait_for("access.refused", 1)[0]["payload"]["reason"], "forged_request");
}

#[test]
fn session_is_bound_to_project_and_port() {
    let stage = HttpProject::new();
    let up = stage.up();
    let browser = SignedInBrowser::new(&up);
    let (name, value) = browser.cookie.split_once('=').expect("a value");
    let port = up.authority().rsplit(':').next().expect("a port");
    assert!(name.starts_with("adjutant-") && name.ends_with(&format!("-{port}")), "{name}");
    let other_stage = HttpProject::new();
    let other = other_stage.up();
    let other_browser = SignedInBrowser::new(&other);
    let (other_name, _) = other_browser.cookie.split_once('=').expect("a value");
    // A browser sends the cookies of all ports to each of them.
    for cookie in [browser.cookie.clone(), format!("{other_name}={value}")] {
        other
            .call_with("GET", "/v1/tasks", &[("Cookie", &cookie)], b"")
            .assert_problem(401, "unauthenticated");
    }
    let both = format!("{}; {}", other_browser.cookie, browser.cookie);
    assert_eq!(up.call_with("GET", "/v1/tasks", &[("Cookie", &both)], b"").status, 200);
    // A page of another port can set a cookie of our name, which does not hide the real one.
    let tossed = format!("{name}=made-up; {}", browser.cookie);
    assert_eq!(up.call_with("GET", "/v1/tasks", &[("Cookie", &tossed)], b"").status, 200);
}

#[test]
fn session_survives_restart_until_sign_out_revokes_it() {
    let stage = HttpProject::new();
    let up = stage.up();
    let place = up.authority().to_owned();
    let (kept, cookie, csrf) = {
        let kept = SignedInBrowser::new(&up);
        let link = stage.json(&["open"])["login"].as_str().expect("a link").to_owned();
        let leaving = SignedInBrowser::with_link(&up, &link);
        (kept.cookie, leaving.cookie, leaving.csrf)
    };
    up.kill();
    let up = stage.up_with(&["--listen", &place]);
    let status = |up: &ListeningDaemon, cookie: &str| {
        up.call_with("GET", "/v1/tasks", &[("Cookie", cookie)], b"").status
    };
    assert_eq!([status(&up, &kept), status(&up, &cookie)], [200, 200], "both survive a restart");
    let headers = [FORM, ("Cookie", &*cookie)];
    let signed_out = up.call_with("POST", "/logout", &headers, format!("csrf={csrf}").as_bytes());
    assert_eq!((signed_out.status, signed_out.header("location")), (303, Some("/login")));
    assert!(signed_out.header("set-cookie").expect("a cookie").contains("max-age=0"));
    assert_eq!([status(&up, &kept), status(&up, &cookie)], [200, 401], "one is revoked");
    let proof = [("Cookie", &*cookie), ("X-CSRF-Token", &*csrf)];
    up.call_with("POST", "/v1/tasks", &proof, br#"{"title": "x"}"#)
        .assert_problem(401, "unauthenticated");
    up.kill();
    let up = stage.up_with(&["--listen", &place]);
    assert_eq!([status(&up, &kept), status(&up, &cookie)], [200, 401], "and stays so");
}

#[test]
fn sign_in_leads_to_the_page_that_was_asked_for() {
    let stage = HttpProject::new();
    let id = stage.add(&["One"]);
    let up = stage.up();
    let asked = format!("/tasks/{id}?find=a+b&run=1");
    let stranger = anonymous(&up, &asked);
    assert_eq!(stranger.status, 303);
    let login = stranger.location.expect("a redirect");
    assert_eq!(login, format!("/login?next=%2Ftasks%2F{id}%3Ffind%3Da%2Bb%26run%3D1"));
    let page = anonymous(&up, &login).text();
    let form = page.split("name=\"next\" value=\"").nth(1).expect("a field");
    let next = form.split('"').next().expect("a value").replace("&amp;", "&");
    assert_eq!(next, asked);
    let encoded = login.split_once("next=").expect("a path").1;
    let by_token = format!("token={}&next={encoded}", up.token);
    let signed_in = up.call_with("POST", "/login", &[FORM], by_token.as_bytes());
    assert_eq!(SignedInBrowser::from_reply(&up, &signed_in).next.replace("&amp;", "&"), asked);
    let link = stage.json(&["open"])["login"].as_str().expect("a link").to_owned();
    let by_link = SignedInBrowser::with_link(&up, &format!("{link}&next={encoded}"));
    assert_eq!(by_link.next.replace("&amp;", "&"), asked);
    // Only paths of this server are opened.
    for evil in ["//evil.example", "https://evil.example", "/%5Cevil.example", "/%09/evil.example"]
    {
        let by_token = format!("token={}&next={evil}", up.token);
        let signed_in = up.call_with("POST", "/login", &[FORM], by_token.as_bytes());
        assert_eq!(SignedInBrowser::from_reply(&up, &signed_in).next, "/", "{evil}");
        assert!(!anonymous(&up, &format!("/login?next={evil}")).text().contains("evil"), "{evil}");
    }
}

#[test]
fn open_command_makes_a_fresh_sign_in_link() {
    let stage = HttpProject::new();
    let refused = stage.json(&["open"]);
    assert_eq!(refused["error"]["causes"], json!(["no daemon is running"]), "{refused}");
    assert_eq!(stage.command(&["open"]).output().expect("it starts").status.code(), Some(1));
    stage.ok(&["up", "--detach", "--listen", "off"]);
    let refused = stage.json(&["open"]);
    assert_eq!(refused["error"]["causes"], json!(["the daemon serves no HTTP"]), "{refused}");
    stage.ok(&["down"]);
    let up = stage.up();
    let link = stage.json(&["open"]);
    assert_eq!(link["url"], up.url);
    let link = link["login"].as_str().expect("a link");
    assert_ne!(link, up.login);
    let browser = SignedInBrowser::with_link(&up, link);
    assert_eq!(browser.get("/v1/tasks").status, 200);
    let path = link.strip_prefix(&up.url).expect("a path");
    assert_eq!(anonymous(&up, path).status, 401, "it works once");
    let text = stage.ok(&["open"]);
    let link = text.split_whitespace().last().expect("a link");
    assert_eq!(SignedInBrowser::with_link(&up, link).next, "/");
}

#[test]
fn open_command_is_refused_inside_run() {
    let stage = HttpProject::new();
    let _up = stage.up();
    let mut open = stage.command(&["open", "--json"]);
    let output = open.env("ADJUTANT_RUN_TOKEN", "x").env("ADJUTANT_AGENT", "swe").output();
    let output = output.expect("it starts");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(said["error"]["code"], "operator_only", "{said}");
    let refused = stage.wait_for("command.refused", 1);
    assert_eq!(refused[0]["payload"]["command"], "open");
}

#[test]
fn open_command_opens_the_link_on_a_desktop_terminal_only() {
    let stage = HttpProject::new();
    let up = stage.up();
    let programs = tempfile::tempdir().expect("a folder");
    let browser = programs.path().join("xdg-open");
    // It writes a whole file, or none.
    std::fs::write(&browser, "#!/bin/sh\necho \"$1\" > \"$0.tmp\"; mv \"$0.tmp\" \"$0.opened\"\n")
        .expect("written");
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).expect("changed");
    let opened = programs.path().join("xdg-open.opened");
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").expect("a path"));
    let on_desktop = |command: &mut Command| {
        let output = command.env("PATH", &path).env("DISPLAY", ":0").output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    on_desktop(&mut stage.command(&["open"]));
    on_desktop(&mut stage.command(&["open", "--json"]));
    let mut terminal = Command::new("script");
    let program = env!("CARGO_BIN_EXE_adjutant");
    terminal.args(["-qec", &format!("{program} open"), "/dev/null"]).current_dir(stage.path(".."));
    let said = on_desktop(terminal.stdin(Stdio::null()));
    let until = std::time::Instant::now() + PATIENCE;
    while !opened.exists() {
        assert!(std::time::Instant::now() < until, "nothing was opened: {said}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let link = std::fs::read_to_string(&opened).expect("a link");
    assert!(said.contains(link.trim()), "the terminal's link, not an earlier one: {said} {link}");
    assert_eq!(SignedInBrowser::with_link(&up, link.trim()).next, "/");
}
