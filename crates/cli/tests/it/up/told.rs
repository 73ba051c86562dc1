//! People and programs are told what they want to be told: once, whatever state they are in.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::up::receiver::{Answer, Receiver};
use crate::up::stage::{Stage, document, until, wait_for};

/// What is in the path of every address here, and must be nowhere else.
pub(crate) const SECRET: &str = "hunter2-path";

/// A day, in milliseconds.
const DAY: i64 = 86_400_000;

/// A project that tells a server of everything that is blocked.
pub(crate) fn stage(port: u16, settings: &str) -> Stage {
    Stage::new("").with_settings(&rule(port, settings))
}

fn rule(port: u16, settings: &str) -> String {
    format!(
        "[[notify]]\non = [\"blocked\"]\ntarget = \"webhook\"\nbackoff = \"20ms\"\n\
         url = \"http://127.0.0.1:{port}/services/{SECRET}\"\n{settings}\n"
    )
}

/// Adds a task that is blocked at once.
pub(crate) fn block(stage: &Stage, reason: &str) -> String {
    let words = ["task", "add", "A task", "--status", "backlog"];
    let id = stage.json(&words)["id"].as_str().expect("an id").to_owned();
    stage.does(["task", "move", &id, "blocked", "--reason", reason]);
    id
}

/// Returns the events of a type.
pub(crate) fn events(stage: &Stage, kind: &str) -> Vec<Value> {
    stage.events().into_iter().filter(|event| event["type"] == kind).collect()
}

/// Makes sure that what is secret is in no file but the configuration.
pub(crate) fn nothing_is_told_of_the_address(stage: &Stage) {
    let found = Command::new("grep").args(["-rl", SECRET]).arg(stage.home()).output();
    let found = String::from_utf8(found.expect("grep").stdout).expect("text");
    let places: Vec<&str> = found.lines().filter(|line| !line.ends_with("adjutant.toml")).collect();
    assert_eq!(places, [""; 0]);
}

#[test]
fn everything_arrives_once_whatever_the_receiver_does_before() {
    let port = Receiver::free_port();
    let stage = stage(port, "timeout = \"300ms\"\nattempts_max = 1000");
    let up = stage.up();
    let ids: Vec<String> = (0..6).map(|n| block(&stage, &format!("reason {n}"))).collect();
    // Nobody listens so far. Then somebody does, badly.
    let receiver = Receiver::at(
        port,
        &[
            Answer::Status(500, ""),
            Answer::Cut,
            Answer::Hold,
            Answer::Status(503, "Retry-After: 1\r\n"),
            Answer::Status(429, "Retry-After: 1\r\n"),
            Answer::Ok,
            Answer::Cut,
            Answer::Status(302, "Location: http://127.0.0.1:1/\r\n"),
            Answer::Status(404, ""),
        ],
    );
    wait_for("all are told", || events(&stage, "notify.sent").len() == ids.len());
    receiver.go_on();
    let heard = receiver.heard();
    let taken = |heard: &&crate::up::receiver::Heard| heard.answer == Answer::Ok;
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
    // What was tried again was tried under its own id.
    for one in &heard {
        assert_eq!(
            (&one.id[..], &one.headers["idempotency-key"]),
            (one.body["id"].as_str().expect("an id"), &one.id)
        );
    }
    assert_eq!(heard[0].id, heard[5].id, "the first is tried until it is taken");
    assert_eq!(events(&stage, "notify.failed").len(), 0);
    up.kill();
    nothing_is_told_of_the_address(&stage);
}

#[test]
fn who_never_answers_is_given_up_with_words_and_what_makes_no_sense_to_it_at_once() {
    let receiver = Receiver::new(&[Answer::Status(422, ""), Answer::Ok]);
    let stage = stage(receiver.port, "attempts_max = 3");
    let up = stage.up();
    let bad = block(&stage, "bad");
    wait_for("one is given up", || events(&stage, "notify.failed").len() == 1);
    let good = block(&stage, "good");
    wait_for("one is told", || events(&stage, "notify.sent").len() == 1);
    assert_eq!(events(&stage, "notify.sent")[0]["taskId"], good[..]);
    let failed = &events(&stage, "notify.failed")[0];
    let reason = format!("http://127.0.0.1:{}/… answers 422", receiver.port);
    assert_eq!(
        (&failed["taskId"], &failed["payload"]["reason"]),
        (&bad[..].into(), &reason[..].into())
    );
    assert_eq!(failed["payload"]["tries"], 1);
    up.kill();
    // Now nobody listens.
    let text = fs::read_to_string(stage.path("adjutant.toml")).expect("it is there");
    let text = text.replace(&receiver.port.to_string(), &Receiver::free_port().to_string());
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
    nothing_is_told_of_the_address(&stage);
}

/// Checks a signature by a program that knows nothing of us.
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
fn a_post_is_signed_and_nobody_but_its_receiver_knows_with_what() {
    let receiver = Receiver::new(&[]);
    let stage = stage(receiver.port, "secret_file = \"hook-secret\"");
    let file = stage.path("hook-secret");
    fs::write(&file, "correct horse\n").expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("set");
    let up = stage.up();
    block(&stage, "a \"quoted\" <reason> with \u{1f600}");
    wait_for("it is told", || events(&stage, "notify.sent").len() == 1);
    let heard = &receiver.heard()[0];
    let stamp = &heard.headers["webhook-timestamp"];
    let expected = openssl_says("correct horse", &format!("{}.{stamp}.{}", heard.id, heard.text));
    assert_eq!(heard.headers["webhook-signature"], format!("v1,{expected}"));
    assert_ne!(expected, openssl_says("correct horse", &format!("{}.{stamp}.{{}}", heard.id)));
    up.kill();
    fs::remove_file(file).expect("it was there");
    let found = Command::new("grep").args(["-rl", "correct horse"]).arg(stage.home()).output();
    assert_eq!(found.expect("grep").stdout, b"");
}

/// Makes a program in the project's folder.
fn program(stage: &Stage, name: &str, script: &str) {
    let path = stage.home().join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("set");
}

#[test]
fn a_slow_target_holds_up_no_other_and_never_the_work() {
    let receiver = Receiver::new(&[Answer::Hold]);
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
    wait_for("it hears, and does not answer", || receiver.heard().len() == 1);
    let done = stage.add("actor");
    wait_for("the work goes on", || stage.status(&done) == "done");
    let told = document(&fs::read_to_string(stage.home().join("told.json")).expect("it is there"));
    let notice = &told["notices"][0];
    assert_eq!((&notice["taskId"], &notice["kind"]), (&id[..].into(), &"blocked".into()));
    assert_eq!(notice["text"], format!("A task ({id}) is blocked: why\u{fffd}[31m\u{fffd}"));
    let shown =
        until("it is shown", || up.said().into_iter().find(|said| !said["notice"].is_null()));
    assert_eq!(shown["notice"]["text"], notice["text"]);
    let env = fs::read_to_string(stage.home().join("env.txt")).expect("it is there");
    let ours = |line: &&str| line.starts_with("ADJUTANT_") && !line.starts_with("ADJUTANT_CHECK=");
    assert_eq!(env.lines().filter(ours).collect::<Vec<_>>(), [""; 0]);
    receiver.go_on();
    wait_for("it is told at last", || events(&stage, "notify.sent").len() == 3);
}

#[test]
fn a_program_that_takes_too_long_is_ended_with_everything_it_started() {
    let stage = Stage::new("").with_settings(
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
    stage.nobody_is_left();
}

#[test]
fn who_wants_quiet_is_told_in_the_morning_and_what_is_urgent_at_once() {
    let receiver = Receiver::new(&[]);
    let stage = Stage::new("").with_settings(&format!(
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
    // Tomorrow at half past ten in the evening.
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
    // Half past seven in the morning; something happens, so that the daemon looks at its clock.
    stage.set_clock(evening - real + 9 * 3_600_000);
    stage.does(["task", "add", "Another"]);
    wait_for("the others are told", || events(&stage, "notify.sent").len() == 3);
    let heard = receiver.heard();
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
fn what_comes_together_is_told_as_one() {
    let receiver = Receiver::new(&[]);
    let stage = stage(receiver.port, "batch = \"3s\"");
    let ids: Vec<String> = (0..4).map(|n| block(&stage, &n.to_string())).collect();
    let _up = stage.up();
    wait_for("all are told", || events(&stage, "notify.sent").len() == ids.len());
    assert!(receiver.heard().len() < ids.len(), "{:?}", receiver.heard());
    assert!(receiver.taken().values().all(|times| *times == 1));
    assert_eq!(receiver.taken().len(), ids.len());
}

#[test]
fn who_cannot_be_told_is_said_before_anybody_has_to_be() {
    let stage = Stage::new("").with_settings(
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
            "the rule one of [[notify]]: there is no program ./gone.sh that can be run",
            "the rule two of [[notify]]: there is no variable NO_SUCH_HOOK in the environment",
            "the rule three of [[notify]]: the text in hook must begin with https:// or http://",
            "the rule three of [[notify]]: gone: No such file or directory (os error 2)",
            "the rule three of [[notify]]: others can read hook; `chmod 600` it",
        ]
    );
    assert_eq!((ran.code, &found["findings"][0]["code"]), (1, &"notify_target".into()));
    let up = stage.up_with(&["--until-idle"]);
    assert_eq!(up.ends().code(), Some(0), "it goes on all the same");
    let warned = stage.errors();
    assert_eq!(warned.matches("nobody is told by the rule").count(), 5, "{warned}");
    assert!(!warned.contains(SECRET) && !ran.out.contains(SECRET));
}

#[test]
fn agents_and_checks_see_no_address_and_no_secret() {
    let receiver = Receiver::new(&[]);
    let stage = Stage::new("")
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
    assert_eq!(receiver.taken().len(), 1, "an idle daemon tells before it leaves");
    for file in ["agent.txt", "check.txt"] {
        let env = fs::read_to_string(stage.home().join(file)).expect(file);
        assert!(env.contains("PATH=") && !env.contains("HOOK_"), "{file}: {env}");
    }
    let heard = &receiver.heard()[0];
    let stamp = &heard.headers["webhook-timestamp"];
    let expected =
        openssl_says("secret key of some length", &format!("{}.{stamp}.{}", heard.id, heard.text));
    assert_eq!(heard.headers["webhook-signature"], format!("v1,{expected}"));
    nothing_is_told_of_the_address(&stage);
}
