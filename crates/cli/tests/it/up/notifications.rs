//! Notifications: each notice arrives once, despite failures of the receiver.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::up::project::{DaemonProject, document, until, wait_for};
use crate::up::webhook_receiver::{ReceiverAnswer, WebhookReceiver};

/// Part of every webhook URL here. It must not appear outside the configuration.
pub(crate) const SECRET: &str = "hunter2-path";

const DAY: i64 = 86_400_000;

/// Returns a project that notifies a server about every blocked task.
pub(crate) fn stage(port: u16, settings: &str) -> DaemonProject {
    DaemonProject::new("").with_settings(&rule(port, settings))
}

fn rule(port: u16, settings: &str) -> String {
    format!(
        "[[notify]]\non = [\"blocked\"]\ntarget = \"webhook\"\nbackoff = \"20ms\"\n\
         url = \"http://127.0.0.1:{port}/services/{SECRET}\"\n{settings}\n"
    )
}

/// Adds a task, and moves it to blocked.
pub(crate) fn block(stage: &DaemonProject, reason: &str) -> String {
    let words = ["task", "add", "A task", "--status", "backlog"];
    let id = stage.json(&words)["id"].as_str().expect("an id").to_owned();
    stage.run_ok(["task", "move", &id, "blocked", "--reason", reason]);
    id
}

/// Returns the events of a type.
pub(crate) fn events(stage: &DaemonProject, kind: &str) -> Vec<Value> {
    stage.events().into_iter().filter(|event| event["type"] == kind).collect()
}

/// Asserts that the secret is in no file except the configuration.
pub(crate) fn assert_address_not_leaked(stage: &DaemonProject) {
    let found = Command::new("grep").args(["-rl", SECRET]).arg(stage.home()).output();
    let found = String::from_utf8(found.expect("grep").stdout).expect("text");
    let places: Vec<&str> = found.lines().filter(|line| !line.ends_with("adjutant.toml")).collect();
    assert_eq!(places, [""; 0]);
}

#[test]
fn notices_arrive_once_despite_failing_receiver() {
    let port = WebhookReceiver::free_port();
    let stage = stage(port, "timeout = \"300ms\"\nattempts_max = 1000");
    let up = stage.up();
    let ids: Vec<String> = (0..6).map(|n| block(&stage, &format!("reason {n}"))).collect();
    // No server listens yet. Then one listens and misbehaves.
    let receiver = WebhookReceiver::at(
        port,
        &[
            ReceiverAnswer::Status(500, ""),
            ReceiverAnswer::Cut,
            ReceiverAnswer::Hold,
            ReceiverAnswer::Status(503, "Retry-After: 1\r\n"),
            ReceiverAnswer::Status(429, "Retry-After: 1\r\n"),
            ReceiverAnswer::Ok,
            ReceiverAnswer::Cut,
            ReceiverAnswer::Status(302, "Location: http://127.0.0.1:1/\r\n"),
            ReceiverAnswer::Status(404, ""),
        ],
    );
    wait_for("all are told", || events(&stage, "notify.sent").len() == ids.len());
    receiver.release_held();
    let heard = receiver.requests();
    let taken =
        |heard: &&crate::up::webhook_receiver::ReceivedRequest| heard.answer == ReceiverAnswer::Ok;
    let told: Vec<&str> = heard
        .iter()
        .filter(taken)
        .map(|heard| heard.body["notices"][0]["taskId"].as_str().expect("a task"))
        .collect();
    assert_eq!(told, ids, "each once, in the order of the record");
    for (event, id) in events(&stage, "notify.sent").iter().zip(&ids) {
        assert_eq!(
            (&event["taskId"], &event["payload"]["rule"]),
            (&id[..].into(), &"webhook".into())
        );
        let about = &event["payload"]["about"];
        let moved = stage.events().into_iter().find(|event| event["eventId"] == *about);
        assert_eq!(moved.expect("it is there")["payload"]["to"], "blocked");
    }
    // A retry uses the id of the first try.
    for one in &heard {
        assert_eq!(
            (&one.id[..], &one.headers["idempotency-key"]),
            (one.body["id"].as_str().expect("an id"), &one.id)
        );
    }
    assert_eq!(heard[0].id, heard[5].id, "the first is tried until it is taken");
    assert_eq!(events(&stage, "notify.failed").len(), 0);
    up.kill();
    assert_address_not_leaked(&stage);
}

#[test]
fn notice_is_given_up_after_retries_or_at_once_if_refused() {
    let receiver = WebhookReceiver::new(&[ReceiverAnswer::Status(422, ""), ReceiverAnswer::Ok]);
    let stage = stage(receiver.port, "attempts_max = 3");
    let up = stage.up();
    let bad = block(&stage, "bad");
    wait_for("one is given up", || events(&stage, "notify.failed").len() == 1);
    let good = block(&stage, "good");
    wait_for("one is told", || events(&stage, "notify.sent").len() == 1);
    assert_eq!(events(&stage, "notify.sent")[0]["taskId"], good[..]);
    let failed = &events(&stage, "notify.failed")[0];
    let reason = format!("http://127.0.0.1:{}/… answered 422", receiver.port);
    assert_eq!(
        (&failed["taskId"], &failed["payload"]["reason"]),
        (&bad[..].into(), &reason[..].into())
    );
    assert_eq!(failed["payload"]["tries"], 1);
    up.kill();
    // Now no server listens.
    let text = fs::read_to_string(stage.path("adjutant.toml")).expect("it is there");
    let text = text.replace(&receiver.port.to_string(), &WebhookReceiver::free_port().to_string());
    fs::write(stage.path("adjutant.toml"), text).expect("written");
    let _up = stage.up();
    block(&stage, "lost");
    wait_for("it is given up", || events(&stage, "notify.failed").len() == 2);
    let failed = &events(&stage, "notify.failed")[1]["payload"];
    assert!(
        failed["reason"].as_str().is_some_and(|why| why.starts_with("cannot reach http://127")),
        "{failed}"
    );
    assert_eq!(failed["tries"], 3);
    assert_address_not_leaked(&stage);
}

/// Computes a signature with an independent program.
fn openssl_says(key: &str, content: &str) -> String {
    let mut openssl = Command::new("openssl")
        .args(["dgst", "-sha256", "-mac", "HMAC", "-macopt", &format!("key:{key}"), "-binary"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("openssl is on this machine");
    openssl.stdin.take().expect("an input").write_all(content.as_bytes()).expect("written");
    let digest = openssl.wait_with_output().expect("it ends").stdout;
    let mut coder = Command::new("openssl")
        .args(["base64", "-A"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("openssl is on this machine");
    coder.stdin.take().expect("an input").write_all(&digest).expect("written");
    String::from_utf8(coder.wait_with_output().expect("it ends").stdout).expect("text")
}

#[test]
fn notice_is_signed_and_secret_stays_private() {
    let receiver = WebhookReceiver::new(&[]);
    let stage = stage(receiver.port, "secret_file = \"hook-secret\"");
    let file = stage.path("hook-secret");
    fs::write(&file, "correct horse\n").expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("set");
    let up = stage.up();
    block(&stage, "a \"quoted\" <reason> with \u{1f600}");
    wait_for("it is told", || events(&stage, "notify.sent").len() == 1);
    let heard = &receiver.requests()[0];
    let stamp = &heard.headers["webhook-timestamp"];
    let expected = openssl_says("correct horse", &format!("{}.{stamp}.{}", heard.id, heard.text));
    assert_eq!(heard.headers["webhook-signature"], format!("v1,{expected}"));
    assert_ne!(expected, openssl_says("correct horse", &format!("{}.{stamp}.{{}}", heard.id)));
    up.kill();
    fs::remove_file(file).expect("it was there");
    let found = Command::new("grep").args(["-rl", "correct horse"]).arg(stage.home()).output();
    assert_eq!(found.expect("grep").stdout, b"");
}

/// Creates an executable script in the project's folder.
fn program(stage: &DaemonProject, name: &str, script: &str) {
    let path = stage.home().join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("set");
}

#[test]
fn slow_notice_target_delays_neither_others_nor_work() {
    let receiver = WebhookReceiver::new(&[ReceiverAnswer::Hold]);
    let stage = stage(receiver.port, "timeout = \"1h\"")
        .with_agent("actor", "steps: [{report: {outcome: done}}]")
        .with_settings(
            "[[notify]]\non = [\"blocked\"]\ntarget = \"command\"\ncommand = [\"./tell.sh\"]",
        )
        .with_settings("[[notify]]\non = [\"blocked\"]\ntarget = \"console\"");
    program(&stage, "tell.sh", "cat > told.json; env > env.txt");
    let mut up = stage.up();
    let id = block(&stage, "why\u{1b}[31m\u{202e}");
    wait_for("both others are told", || events(&stage, "notify.sent").len() == 2);
    wait_for("it hears, and does not answer", || receiver.requests().len() == 1);
    let done = stage.add("actor");
    wait_for("the work goes on", || stage.status(&done) == "done");
    let told = document(&fs::read_to_string(stage.home().join("told.json")).expect("it is there"));
    let notice = &told["notices"][0];
    assert_eq!((&notice["taskId"], &notice["kind"]), (&id[..].into(), &"blocked".into()));
    assert_eq!(notice["text"], format!("A task ({id}) is blocked: why\u{fffd}[31m\u{fffd}"));
    let shown = until("it is shown", || {
        up.printed_documents().into_iter().find(|said| !said["notice"].is_null())
    });
    assert_eq!(shown["notice"]["text"], notice["text"]);
    let env = fs::read_to_string(stage.home().join("env.txt")).expect("it is there");
    let ours = |line: &&str| line.starts_with("ADJUTANT_") && !line.starts_with("ADJUTANT_CHECK=");
    assert_eq!(env.lines().filter(ours).collect::<Vec<_>>(), [""; 0]);
    receiver.release_held();
    wait_for("it is told at last", || events(&stage, "notify.sent").len() == 3);
}

#[test]
fn notify_command_timeout_ends_all_its_processes() {
    let stage = DaemonProject::new("").with_settings(
        "[[notify]]\non = [\"blocked\"]\ntarget = \"command\"\ncommand = [\"./hang.sh\", \"x y\"]\n\
         timeout = \"500ms\"\nattempts_max = 2\nbackoff = \"1ms\"",
    );
    program(&stage, "hang.sh", "echo \"$1 $2\" >> args; setsid sleep 600 & sleep 600");
    let up = stage.up();
    block(&stage, "why");
    wait_for("it is given up", || events(&stage, "notify.failed").len() == 1);
    let failed = &events(&stage, "notify.failed")[0]["payload"];
    assert!(
        failed["reason"].as_str().is_some_and(|why| why.starts_with("./hang.sh ended with")),
        "{failed}"
    );
    assert_eq!(fs::read_to_string(stage.home().join("args")).expect("it ran"), "x y \n".repeat(2));
    up.kill();
    stage.assert_no_processes();
}

#[test]
fn quiet_hours_delay_notices_until_morning_except_urgent() {
    let receiver = WebhookReceiver::new(&[]);
    let stage = DaemonProject::new("").with_settings(&format!(
        "{}\nquiet = \"22:00-07:00\"\ntime_zone = \"UTC\"\nurgent = [\"done\"]",
        rule(receiver.port, "").replace("\"blocked\"", "\"blocked\", \"done\"")
    ));
    let real = i64::try_from(
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .expect("a time")
            .as_millis(),
    )
    .expect("a time");
    // Tomorrow at 22:30.
    let evening = (real / DAY + 1) * DAY + 81_000_000;
    stage.set_clock(evening - real);
    let _up = stage.up();
    let ids = [block(&stage, "one"), block(&stage, "two")];
    let done = stage.json(&["task", "add", "Done by hand", "--status", "ready"]);
    let done = done["id"].as_str().expect("an id").to_owned();
    let file = |status: &str| stage.path(&format!("tasks/{status}/{done}.md"));
    fs::rename(file("ready"), file("done")).expect("moved");
    wait_for("what is urgent is told", || events(&stage, "notify.sent").len() == 1);
    assert_eq!(events(&stage, "notify.sent")[0]["taskId"], done[..]);
    // 07:30 the next morning. A new task makes the daemon look at its clock.
    stage.set_clock(evening - real + 9 * 3_600_000);
    stage.run_ok(["task", "add", "Another"]);
    wait_for("the others are told", || events(&stage, "notify.sent").len() == 3);
    let heard = receiver.requests();
    assert_eq!(heard.len(), 2, "they come as one");
    let told: Vec<&Value> = heard[1].body["notices"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| &it["taskId"])
        .collect();
    assert_eq!(
        told,
        ids.iter().map(|id| Value::from(&id[..])).collect::<Vec<_>>().iter().collect::<Vec<_>>()
    );
    assert!(heard[1].id.ends_with("+1"), "{}", heard[1].id);
}

#[test]
fn notices_are_sent_as_one_batch() {
    let receiver = WebhookReceiver::new(&[]);
    let stage = stage(receiver.port, "batch = \"3s\"");
    let ids: Vec<String> = (0..4).map(|n| block(&stage, &n.to_string())).collect();
    let _up = stage.up();
    wait_for("all are told", || events(&stage, "notify.sent").len() == ids.len());
    assert!(receiver.requests().len() < ids.len(), "{:?}", receiver.requests());
    assert!(receiver.accepted_counts().values().all(|times| *times == 1));
    assert_eq!(receiver.accepted_counts().len(), ids.len());
}

#[test]
fn doctor_reports_unusable_notify_targets() {
    let stage = DaemonProject::new("").with_settings(
        "[[notify]]\nname = \"one\"\non = [\"done\"]\ntarget = \"command\"\ncommand = [\"./gone.sh\"]\n\
         [[notify]]\nname = \"two\"\non = [\"done\"]\ntarget = \"webhook\"\nurl_env = \"NO_SUCH_HOOK\"\n\
         [[notify]]\nname = \"three\"\non = [\"done\"]\ntarget = \"webhook\"\nurl_file = \"hook\"\nsecret_file = \"gone\"",
    );
    fs::write(stage.path("hook"), format!("ftp://example.com/{SECRET}\n")).expect("written");
    fs::set_permissions(stage.path("hook"), fs::Permissions::from_mode(0o644)).expect("set");
    let ran = stage.adjutant(["doctor", "--json"]);
    let found = document(&ran.out);
    let texts: Vec<&str> = found["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["text"].as_str().expect("a text"))
        .collect();
    assert_eq!(
        texts,
        [
            "the notification rule one: the program ./gone.sh does not exist or is not executable",
            "the notification rule two: the environment variable NO_SUCH_HOOK is not set",
            "the notification rule three: the text in hook must begin with https:// or http://",
            "the notification rule three: gone: No such file or directory (os error 2)",
            "the notification rule three: other users can read hook; run `chmod 600` on it",
        ]
    );
    assert_eq!((ran.code, &found["findings"][0]["code"]), (1, &"notify_target".into()));
    let up = stage.up_with(&["--until-idle"]);
    assert_eq!(up.wait_for_exit().code(), Some(0), "it goes on all the same");
    let warned = stage.errors();
    assert_eq!(warned.matches("the notification rule").count(), 5, "{warned}");
    assert!(!warned.contains(SECRET) && !ran.out.contains(SECRET));
}

#[test]
fn notify_address_and_secret_are_hidden_from_agents_and_checks() {
    let receiver = WebhookReceiver::new(&[]);
    let stage = DaemonProject::new("")
        .with_command("looks", "env > agent.txt; adjutant report done", "checks = [\"env > check.txt\"]")
        .with_settings("[[notify]]\nname = \"ops\"\non = [\"done\"]\ntarget = \"webhook\"\nurl_env = \"HOOK_URL\"\nsecret_env = \"HOOK_KEY\"");
    let id = stage.add("looks");
    let path = Path::new(env!("CARGO_BIN_EXE_adjutant")).parent().expect("a folder");
    let path = format!("{}:{}", path.display(), std::env::var("PATH").expect("a path"));
    let output = stage
        .command(["up", "--until-idle"])
        .env("PATH", path)
        .env("HOOK_URL", format!("http://127.0.0.1:{}/{SECRET}", receiver.port))
        .env("HOOK_KEY", "whsec_c2VjcmV0IGtleSBvZiBzb21lIGxlbmd0aA==")
        .env("ADJUTANT_NOTIFY_OPS_BACKOFF", "1s")
        .output();
    assert!(output.expect("it runs").status.success(), "{}", stage.errors());
    assert_eq!(stage.status(&id), "done");
    assert_eq!(receiver.accepted_counts().len(), 1, "an idle daemon tells before it leaves");
    for file in ["agent.txt", "check.txt"] {
        let env = fs::read_to_string(stage.home().join(file)).expect(file);
        assert!(env.contains("PATH=") && !env.contains("HOOK_"), "{file}: {env}");
    }
    let heard = &receiver.requests()[0];
    let stamp = &heard.headers["webhook-timestamp"];
    let expected =
        openssl_says("secret key of some length", &format!("{}.{stamp}.{}", heard.id, heard.text));
    assert_eq!(heard.headers["webhook-signature"], format!("v1,{expected}"));
    assert_address_not_leaked(&stage);
}
