use std::time::Duration;

use super::*;

fn read(text: &str) -> Result<Config, Wrong> {
    Config::read(text, [].into_iter())
}

fn with(text: &str, variables: &[(&str, &str)]) -> Result<Config, Wrong> {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Config::read(text, variables)
}

fn wrong(line: Option<usize>, what: &str, hint: Option<&str>) -> Wrong {
    Wrong { line, what: what.to_owned(), hint: hint.map(str::to_owned) }
}

/// An example as the reference has it.
const EXAMPLE: &str = r#"
[scheduler]
concurrency = 8
poll = "10s"

[agents.claude]
kind = "claude"
mode = "code"
slots = 2

[agents.fixer]
kind = "command"
command = ["./fix.sh"]
prompt = "argument"
on_exit_ok = "needs_review"
timeout = "1h"
env = { LANG = "C" }
env_deny = ["AWS_*"]
"#;

#[test]
fn the_template_is_the_default() {
    assert_eq!(read(TEMPLATE), Ok(Config::default()));
    let settings: Vec<&str> =
        TEMPLATE.lines().take_while(|line| !line.contains("Who is told")).collect();
    let is_setting = |line: &str| line.starts_with("# ") && line.contains(" = ");
    let uncomment =
        |line: &&str| if is_setting(line) { line[2..].to_owned() } else { (*line).to_owned() };
    let uncommented: Vec<String> = settings.iter().map(uncomment).collect();
    // Where it listens is said there, and is no wish of anybody's until somebody says it.
    let (listen, token_file) = (Some(Listen::At(Listen::DEFAULT)), Some("operator-token".into()));
    let server = Server { listen, token_file, ..Server::default() };
    assert_eq!(read(&uncommented.join("\n")), Ok(Config { server, ..Config::default() }));
    let agent = TEMPLATE.split("# [agents").nth(1).expect("an example").replace("\n# ", "\n");
    let config = read(&format!("[agents{agent}")).expect("the example is good");
    assert_eq!(config.agents["fixer"].command, ["./fix.sh"]);
}

#[test]
fn everything_is_read() {
    let config = read(EXAMPLE).expect("it is good");
    assert_eq!((config.scheduler.concurrency, config.scheduler.poll), (8, Span::secs(10)));
    let claude = Agent { mode: Some("code".into()), slots: 2, ..Agent::new(Kind::Claude) };
    assert_eq!(config.agents["claude"], claude);
    let fixer = Agent {
        command: vec!["./fix.sh".into()],
        prompt: Prompt::Argument,
        on_exit_ok: OnExitOk::NeedsReview,
        timeout: Some(Limit::After(Duration::from_hours(1))),
        env: [("LANG".to_owned(), "C".to_owned())].into(),
        env_deny: vec!["AWS_*".into()],
        ..Agent::new(Kind::Command)
    };
    assert_eq!(config.agents["fixer"], fixer);
}

#[test]
fn a_command_may_take_as_long_as_it_likes_and_others_may_not() {
    let minutes = |minutes: u64| Some(Duration::from_mins(minutes));
    let times = |agent: &Agent| (agent.timeout(), agent.idle_timeout());
    assert_eq!(times(&Agent::new(Kind::Command)), (None, None));
    assert_eq!(times(&Agent::new(Kind::Claude)), (minutes(60), minutes(15)));
    let off = Agent { timeout: Some(Limit::Off), ..Agent::new(Kind::Script) };
    assert_eq!(times(&off), (None, minutes(15)));
}

#[test]
fn a_key_it_does_not_know_is_an_error_naming_the_nearest() {
    let check = |text, line, what, hint| assert_eq!(read(text), Err(wrong(Some(line), what, hint)));
    check(
        "[protocol]\nrequire_tokn = true\n",
        2,
        "there is no setting `require_tokn` in [protocol]",
        Some("did you mean `require_token`?"),
    );
    check("\n\n[protocl]\n", 3, "there is no setting `protocl`", Some("did you mean `protocol`?"));
    check(
        "[scheduler]\nconcurency = 3\n",
        2,
        "there is no setting `concurency` in [scheduler]",
        Some("did you mean `concurrency`?"),
    );
    check(
        "[agents.a]\nkind = \"command\"\ncomand = [\"x\"]\n",
        3,
        "there is no setting `comand` in [agents.a]",
        Some("did you mean `command`?"),
    );
}

#[test]
fn a_value_that_does_not_fit_is_told_by_its_line() {
    let check = |text, line, what| assert_eq!(read(text), Err(wrong(Some(line), what, None)));
    check("[protocol]\nrequire_token = 1\n", 2, "invalid type: integer `1`, expected a boolean");
    check("protocol = 3\n", 1, "invalid type: integer `3`, expected struct Protocol");
    check("[protocol\n", 1, "unclosed table, expected `]`");
    check(
        "[scheduler]\npoll = \"soon\"\n",
        2,
        "expected a length of time like \"30s\", \"5m\" or \"1h30m\", not \"soon\"",
    );
    check(
        "[agents.a]\nkind = \"robot\"\n",
        2,
        "unknown variant `robot`, expected one of `claude`, `codex`, `gemini`, `opencode`, \
         `goose`, `acp`, `command`, `script`, `webhook`",
    );
    assert_eq!(
        read("[scheduler]\nattempts_max = 0\n"),
        Err(wrong(None, "`attempts_max` in [scheduler] must be at least 1", None))
    );
    check("[agents.a]\nslots = 1\n", 1, "missing field `kind`");
    check(
        "\n[agents.a]\nkind = \"command\"\n",
        2,
        "[agents.a] needs `command`, as its kind is command",
    );
    check("[agents.a]\nkind = \"script\"\n", 1, "[agents.a] needs `script`, as its kind is script");
    check(
        "[agents.a]\nkind = \"claude\"\nscript = \"x\"\n",
        1,
        "[agents.a] `script` is only for the kind script",
    );
    check(
        "[agents.scheduler]\nkind = \"claude\"\n",
        1,
        "`scheduler` cannot be the name of an agent",
    );
}

#[test]
fn the_environment_counts_more_than_the_file() {
    let config = with(
        EXAMPLE,
        &[
            ("ADJUTANT_SCHEDULER_POLL", "5s"),
            ("ADJUTANT_SCHEDULER_CONCURRENCY", "2"),
            ("ADJUTANT_PROTOCOL_REQUIRE_TOKEN", "true"),
            ("ADJUTANT_AGENTS_FIXER_COMMAND", "[\"other\", \"-x\"]"),
            ("ADJUTANT_AGENTS_FIXER_MODE", "7"),
            ("ADJUTANT_DATA", "/somewhere"),
        ],
    );
    let config = config.expect("it is good");
    assert_eq!((config.scheduler.poll, config.scheduler.concurrency), (Span::secs(5), 2));
    assert!(config.protocol.require_token);
    let fixer = &config.agents["fixer"];
    assert_eq!(
        (&fixer.command[..], fixer.mode.as_deref()),
        (&["other".into(), "-x".into()][..], Some("7"))
    );
}

#[test]
fn a_variable_that_does_not_fit_is_named() {
    let check = |variable, what, hint| {
        assert_eq!(with(EXAMPLE, &[variable]), Err(wrong(None, what, hint)));
    };
    check(
        ("ADJUTANT_PROTOCOL_REQUIRE_TOKEN", "maybe"),
        "ADJUTANT_PROTOCOL_REQUIRE_TOKEN must be true or false, not \"maybe\"",
        None,
    );
    check(
        ("ADJUTANT_SCHEDULER_CONCURRENCY", "many"),
        "ADJUTANT_SCHEDULER_CONCURRENCY: invalid type: string \"many\", expected u32",
        None,
    );
    check(
        ("ADJUTANT_SCHEDULER_POL", "1s"),
        "there is no setting for the variable `ADJUTANT_SCHEDULER_POL`",
        Some("did you mean `ADJUTANT_SCHEDULER_POLL`?"),
    );
}

#[test]
fn an_agent_speaks_the_dialect_it_is_given() {
    let agent = |dialect: &str| {
        read(&format!("[agents.a]\nkind = \"claude\"\ndialect = {dialect:?}\n"))
            .map(|config| config.agents["a"].dialect.of_core().as_str())
    };
    for dialect in adjutant_core::dialect::Dialect::ALL {
        let word = dialect.as_str();
        assert_eq!(agent(word), Ok(word));
    }
    assert_eq!(Agent::new(Kind::Claude).dialect, Dialect::Prompt);
    let wrong = agent("missions").expect_err("there is no such dialect");
    assert!(wrong.what.contains("missions"), "{wrong:?}");
    let named = with("[agents.a]\nkind = \"claude\"\n", &[("ADJUTANT_AGENTS_A_DIALECT", "aof")]);
    assert_eq!(named.map(|config| config.agents["a"].dialect), Ok(Dialect::Aof));
}

const TOLD: &str = r#"
[agents.swe]
kind = "command"
command = ["./swe"]

[[notify]]
on = ["inbox", "done"]
target = "webhook"
url_env = "HOOK"
secret_file = "key"
format = "slack"
agents = ["swe"]
tags = ["api"]
priority = "high"
quiet = "22:00-07:00"
time_zone = "UTC"
urgent = ["deadletter"]
batch = "2m"

[[notify]]
on = ["review"]
target = "webhook"

[[notify]]
name = "ops"
on = ["failed"]
target = "command"
command = ["./tell"]
"#;

#[test]
fn who_is_told_of_what_is_read_and_each_rule_has_a_name() {
    let config = read(TOLD).expect("it is good");
    let names: Vec<String> = config.notify().map(|(name, _)| name).collect();
    assert_eq!(names, ["webhook", "webhook-2", "ops"]);
    let policy = config.policy();
    let rule = &policy.notify[0];
    assert_eq!((rule.on.len(), rule.urgent.len(), rule.batch_ms), (9, 1, 120_000));
    assert_eq!((rule.agents.len(), rule.tags.len()), (1, 1));
    assert_eq!(rule.priority, adjutant_core::Priority::High);
    assert!(rule.quiet.is_some() && policy.notify[1].quiet.is_none());
    assert_eq!(config.secret_variables(), ["HOOK"]);
}

#[test]
fn a_rule_can_be_given_in_variables_by_its_name() {
    let variables =
        [("ADJUTANT_NOTIFY_OPS_TIMEOUT", "3s"), ("ADJUTANT_NOTIFY_WEBHOOK_2_URL", "https://a/b")];
    let config = with(TOLD, &variables).expect("it is good");
    assert_eq!(config.notify[2].timeout, Span::secs(3));
    assert_eq!(config.notify[1].url.as_deref(), Some("https://a/b"));
    let unknown = with(TOLD, &[("ADJUTANT_NOTIFY_OPS_TIMEOT", "3s")]).expect_err("no such one");
    let meant = "did you mean `ADJUTANT_NOTIFY_OPS_TIMEOUT`?";
    assert_eq!(unknown.hint.as_deref(), Some(meant));
}

#[test]
fn what_makes_no_sense_of_a_rule_is_said_with_its_line() {
    let rule = |settings: &str| {
        read(&format!(
            "[[notify]]\non = [\"done\"]\ntarget = \"console\"\n\n[[notify]]\n{settings}"
        ))
        .expect_err("it is refused")
    };
    let good = "on = [\"done\"]\ntarget = \"webhook\"\n";
    for (settings, what) in [
        ("on = []\ntarget = \"console\"", "`on` names nothing"),
        (
            "on = [\"done\"]\ntarget = \"command\"",
            "`command` is missing: the program and its arguments",
        ),
        (
            "on = [\"done\"]\ntarget = \"console\"\nurl = \"https://a/\"",
            "`url` is for the target `webhook`",
        ),
        (
            &format!("{good}url = \"example.com/secret\""),
            "`url` is no address; one begins with https:// or http:// and names a host",
        ),
        (
            &format!("{good}url = \"https://a/\"\nurl_env = \"A\""),
            "of `url`, `url_file` and `url_env` there can be one",
        ),
        (
            &format!("{good}quiet = \"22-7\""),
            "`quiet` is no part of a day; write two different times, as \"22:00-07:00\"",
        ),
        (
            &format!("{good}quiet = \"22:00-07:00\"\ntime_zone = \"Mars/Olympus\""),
            "`time_zone`: this machine knows no time zone \"Mars/Olympus\"",
        ),
        (
            &format!("{good}agents = [\"nobody\"]"),
            "`agents` names \"nobody\", and there is no such agent",
        ),
        (
            &format!("{good}name = \"a b\""),
            "`name` has letters, digits, `-` and `_`, at most 64 of them",
        ),
        (&format!("{good}attempts_max = 0"), "`attempts_max` must be at least 1"),
    ] {
        assert_eq!(
            rule(settings),
            wrong(Some(5), &format!("[[notify]] {what}"), None),
            "{settings}"
        );
    }
    let unknown = rule(&format!("{good}urll = \"https://a/\""));
    let expected =
        wrong(Some(8), "there is no setting `urll` in [[notify]]", Some("did you mean `url`?"));
    assert_eq!(unknown, expected);
    let bad = rule("on = [\"dne\"]\ntarget = \"console\"");
    assert!(bad.what.contains("unknown variant `dne`"), "{bad:?}");
}
