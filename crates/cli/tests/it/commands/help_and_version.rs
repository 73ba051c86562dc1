//! Tests of `adjutant help` and `adjutant version`.

use serde_json::json;

use crate::commands::support::{adjutant, document, run};

#[test]
fn help_prints_what_the_help_option_prints() {
    for words in [&[][..], &["approve"], &["task", "add"], &["task"], &["help"]] {
        let by_option = run(adjutant().args(words).arg("--help"));
        let by_command = run(adjutant().arg("help").args(words));
        assert_eq!(by_command, by_option, "{words:?}");
        assert_eq!(by_command.code, 0, "{words:?}");
        let json = run(adjutant().args(["help", "--json"]).args(words));
        assert_eq!(document(&json.out), json!({"help": by_option.out.trim_end()}), "{words:?}");
    }
}

#[test]
fn help_of_unknown_command_is_a_usage_error() {
    let ran = run(adjutant().args(["help", "aprove"]));
    assert_eq!((ran.code, &*ran.out), (2, ""));
    assert!(ran.err.starts_with("error: unrecognized subcommand 'aprove'\n"), "{}", ran.err);
    assert!(ran.err.contains("approve"), "it names the nearest command: {}", ran.err);
    let ran = run(adjutant().args(["help", "task", "nothing", "--json"]));
    assert_eq!((ran.code, &document(&ran.out)["error"]["code"]), (2, &json!("usage")));
}

#[test]
fn version_is_that_of_the_version_option() {
    let by_option = run(adjutant().arg("--version"));
    let by_command = run(adjutant().arg("version"));
    assert_eq!((by_command.code, &by_command.out), (0, &by_option.out));
    let version = by_option.out.trim_end().trim_start_matches("adjutant ");
    let json = run(adjutant().args(["version", "--json"]));
    assert_eq!(document(&json.out), json!({"version": version}));
}
