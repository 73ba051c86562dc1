//! Settings in `adjutant.toml` and in the environment.

use serde_json::json;

use crate::commands::support::{CliProject, completion, run, run_with};

#[test]
fn unknown_setting_is_named_with_line_and_suggestion() {
    let project = CliProject::new();
    project.write("adjutant.toml", "# mine\n[protocol]\nrequire_tokn = true\n");
    let before = project.digest();
    let path = project.path("adjutant.toml").display().to_string();
    let ran = project.adjutant(["task", "list"]);
    let err = format!(
        "error: cannot use the configuration {path}\n  caused by: line 3: unknown setting \
         `require_tokn` in [protocol]\nhint: did you mean `require_token`?\n"
    );
    assert_eq!((ran.code, ran.out, ran.err), (2, String::new(), err));
    let (code, error) = project.error(["task", "add", "x"]);
    let expected = json!({
        "code": "invalid_config",
        "message": format!("cannot use the configuration {path}"),
        "causes": ["line 3: unknown setting `require_tokn` in [protocol]"],
        "hint": "did you mean `require_token`?",
    });
    assert_eq!((code, error), (2, expected));
    assert_eq!(project.digest(), before);
}

#[test]
fn config_errors_name_their_line() {
    let project = CliProject::new();
    let check = |text: &[u8], cause: &str| {
        project.write("adjutant.toml", text);
        let (code, error) = project.error(["events"]);
        assert_eq!((code, &error["causes"]), (2, &json!([cause])), "{error}");
    };
    check(
        b"[protocol]\nrequire_token = 'yes'\n",
        "line 2: invalid type: string \"yes\", expected a boolean",
    );
    check(b"\n[protocol\n", "line 2: unclosed table, expected `]`");
    check(b"[protocol]\nrequire_token = true\nrequire_token = true\n", "line 3: duplicate key");
    check(b"\"\\u001b[31m\" = 1\n", "line 1: unknown setting `\u{1b}[31m`");
}

#[test]
fn config_error_contains_no_terminal_escapes() {
    let project = CliProject::new();
    project.write("adjutant.toml", "\"\\u001b[31m\" = 1\n");
    let ran = project.adjutant(["events"]);
    assert!(ran.err.contains("unknown setting `\u{fffd}[31m`"), "{ran:?}");
    assert!(!ran.err.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn config_that_is_no_text_exits_with_3() {
    let project = CliProject::new();
    project.write("adjutant.toml", b"\xff\xfe");
    let (code, error) = project.error(["events"]);
    assert_eq!((code, &error["code"]), (3, &json!("failed")), "{error}");
}

#[test]
fn config_file_missing_means_defaults() {
    let project = CliProject::new();
    std::fs::remove_file(project.path("adjutant.toml")).expect("it was there");
    assert_eq!(project.does(["events"]), "");
}

#[test]
fn require_token_is_set_by_file_and_environment() {
    let project = CliProject::new();
    let id = project.add(["one", "--agent", "swe", "--status", "ready"]);
    let message = completion(&id, "swe", "done").to_string();
    project.write("adjutant.toml", "[protocol]\nrequire_token = true\n");
    let (code, answer) = project.send(message.as_bytes());
    assert_eq!((code, &answer["reason"]), (1, &json!("token_required")));
    let mut off = project.command(["send", "--json"]);
    let ran = run_with(off.env("ADJUTANT_PROTOCOL_REQUIRE_TOKEN", "false"), message.as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = run(project.command(["events"]).env("ADJUTANT_PROTOCOL_REQUIRE_TOKEN", "maybe"));
    let err = "error: ADJUTANT_PROTOCOL_REQUIRE_TOKEN must be true or false, not \"maybe\"\n";
    assert_eq!((ran.code, &*ran.err), (2, err));
}
