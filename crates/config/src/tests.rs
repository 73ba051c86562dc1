use std::time::Duration;

use super::*;

fn read(text: &str) -> Result<Config, ConfigError> {
    Config::read(text, [].into_iter())
}

fn with(text: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Config::read(text, variables)
}

fn wrong(line: Option<usize>, what: &str, hint: Option<&str>) -> ConfigError {
    ConfigError { line, message: what.to_owned(), hint: hint.map(str::to_owned) }
}

/// An example as in the reference.
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
fn template_is_the_default_configuration() {
    assert_eq!(read(TEMPLATE), Ok(Config::default()));
    let settings: Vec<&str> =
        TEMPLATE.lines().take_while(|line| !line.contains("A notification rule")).collect();
    let is_setting = |line: &str| line.starts_with("# ") && line.contains(" = ");
    let uncomment =
        |line: &&str| if is_setting(line) { line[2..].to_owned() } else { (*line).to_owned() };
    let uncommented: Vec<String> = settings.iter().map(uncomment).collect();
    // The template shows the default address, but a configuration that leaves it out has `None`.
    let (listen, token_file) =
        (Some(ListenSetting::At(ListenSetting::DEFAULT)), Some("operator-token".into()));
    let server = Server { listen, token_file, ..Server::default() };
    assert_eq!(read(&uncommented.join("\n")), Ok(Config { server, ..Config::default() }));
    let agent = TEMPLATE.split("# [agents").nth(1).expect("an example").replace("\n# ", "\n");
    let config = read(&format!("[agents{agent}")).expect("the example is good");
    assert_eq!(config.agents["fixer"].command, ["./fix.sh"]);
}

#[test]
fn project_workspace_applies_to_agents_without_their_own() {
    let text = "[project]\nworkspace = \"worktree\"\n\
                [agents.a]\nkind = \"claude\"\nmerge = \"squash\"\n\
                [agents.b]\nkind = \"codex\"\nworkspace = \".\"\n\
                [agents.c]\nkind = \"webhook\"\nurl = \"http://127.0.0.1:1/\"\n";
    let config = read(text).expect("it is valid");
    let worktrees = ["a", "b", "c"].map(|name| config.agents[name].has_worktree());
    assert_eq!(worktrees, [true, false, false]);
    let by_variable =
        with("[agents.a]\nkind = \"claude\"\n", &[("ADJUTANT_PROJECT_WORKSPACE", "worktree")]);
    assert!(by_variable.expect("it is valid").agents["a"].has_worktree());
}

#[test]
fn config_example_is_read_completely() {
    let config = read(EXAMPLE).expect("it is good");
    assert_eq!(
        (config.scheduler.concurrency, config.scheduler.poll),
        (8, ConfigDuration::secs(10))
    );
    let claude = Agent { mode: Some("code".into()), slots: 2, ..Agent::new(Kind::Claude) };
    assert_eq!(config.agents["claude"], claude);
    let fixer = Agent {
        command: vec!["./fix.sh".into()],
        prompt: Prompt::Argument,
        on_exit_ok: OnExitOk::NeedsReview,
        timeout: Some(TimeLimit::After(Duration::from_hours(1))),
        env: [("LANG".to_owned(), "C".to_owned())].into(),
        env_deny: vec!["AWS_*".into()],
        ..Agent::new(Kind::Command)
    };
    assert_eq!(config.agents["fixer"], fixer);
}

#[test]
fn timeout_default_is_off_for_command_agents_only() {
    let minutes = |minutes: u64| Some(Duration::from_mins(minutes));
    let times = |agent: &Agent| (agent.timeout(), agent.idle_timeout());
    assert_eq!(times(&Agent::new(Kind::Command)), (None, None));
    assert_eq!(times(&Agent::new(Kind::Claude)), (minutes(60), minutes(15)));
    let off = Agent { timeout: Some(TimeLimit::Off), ..Agent::new(Kind::Script) };
    assert_eq!(times(&off), (None, minutes(15)));
}

#[test]
fn unknown_setting_is_refused_with_nearest_name() {
    let check = |text, line, what, hint| assert_eq!(read(text), Err(wrong(Some(line), what, hint)));
    check(
        "[protocol]\nrequire_tokn = true\n",
        2,
        "unknown setting `require_tokn` in [protocol]",
        Some("did you mean `require_token`?"),
    );
    check("\n\n[protocl]\n", 3, "unknown setting `protocl`", Some("did you mean `protocol`?"));
    check(
        "[scheduler]\nconcurency = 3\n",
        2,
        "unknown setting `concurency` in [scheduler]",
        Some("did you mean `concurrency`?"),
    );
    check(
        "[agents.a]\nkind = \"command\"\ncomand = [\"x\"]\n",
        3,
        "unknown setting `comand` in [agents.a]",
        Some("did you mean `command`?"),
    );
}

#[test]
fn invalid_value_is_reported_with_its_line() {
    let check = |text, line, what| assert_eq!(read(text), Err(wrong(Some(line), what, None)));
    check("[protocol]\nrequire_token = 1\n", 2, "invalid type: integer `1`, expected a boolean");
    check("protocol = 3\n", 1, "invalid type: integer `3`, expected a table");
    check("[protocol\n", 1, "unclosed table, expected `]`");
    check(
        "[scheduler]\npoll = \"soon\"\n",
        2,
        "expected a duration like \"30s\", \"5m\" or \"1h30m\", not \"soon\"",
    );
    check(
        "[agents.a]\nkind = \"robot\"\n",
        2,
        "unknown value `robot`, expected one of `claude`, `codex`, `gemini`, `opencode`, \
         `goose`, `acp`, `command`, `script`, `webhook`",
    );
    assert_eq!(
        read("[scheduler]\nattempts_max = 0\n"),
        Err(wrong(None, "`attempts_max` in [scheduler] must be at least 1", None))
    );
    check("[agents.a]\nslots = 1\n", 1, "missing setting `kind`");
    check(
        "\n[agents.a]\nkind = \"command\"\n",
        2,
        "[agents.a] `command` is required for the kind command",
    );
    check(
        "[agents.a]\nkind = \"script\"\n",
        1,
        "[agents.a] `script` is required for the kind script",
    );
    check(
        "[agents.a]\nkind = \"claude\"\nscript = \"x\"\n",
        1,
        "[agents.a] `script` is only valid for the kind script",
    );
    check(
        "[agents.scheduler]\nkind = \"claude\"\n",
        1,
        "`scheduler` is reserved and cannot be the name of an agent",
    );
}

#[test]
fn environment_variable_overrides_file() {
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
    assert_eq!((config.scheduler.poll, config.scheduler.concurrency), (ConfigDuration::secs(5), 2));
    assert!(config.protocol.require_token);
    let fixer = &config.agents["fixer"];
    assert_eq!(
        (&fixer.command[..], fixer.mode.as_deref()),
        (&["other".into(), "-x".into()][..], Some("7"))
    );
}

#[test]
fn invalid_environment_variable_is_named() {
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
        "the variable `ADJUTANT_SCHEDULER_POL` belongs to no setting",
        Some("did you mean `ADJUTANT_SCHEDULER_POLL`?"),
    );
}

#[test]
fn agent_dialect_is_read_from_the_configuration() {
    let agent = |dialect: &str| {
        read(&format!("[agents.a]\nkind = \"claude\"\ndialect = {dialect:?}\n"))
            .map(|config| config.agents["a"].dialect.to_core().as_str())
    };
    for dialect in adjutant_model::dialect::ProtocolDialect::ALL {
        let word = dialect.as_str();
        assert_eq!(agent(word), Ok(word));
    }
    assert_eq!(Agent::new(Kind::Claude).dialect, Dialect::Prompt);
    let wrong = agent("missions").expect_err("there is no such dialect");
    assert!(wrong.message.contains("missions"), "{wrong:?}");
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
fn notify_rules_are_read_and_named() {
    let config = read(TOLD).expect("it is good");
    let names: Vec<String> = config.notify().map(|(name, _)| name).collect();
    assert_eq!(names, ["webhook", "webhook-2", "ops"]);
    let policy = config.policy();
    let rule = &policy.notify[0];
    assert_eq!((rule.on.len(), rule.urgent.len(), rule.batch_ms), (9, 1, 120_000));
    assert_eq!((rule.agents.len(), rule.tags.len()), (1, 1));
    assert_eq!(rule.priority, adjutant_model::Priority::High);
    assert!(rule.quiet.is_some() && policy.notify[1].quiet.is_none());
    assert_eq!(config.secret_variables(), ["HOOK"]);
}

#[test]
fn notify_rule_can_be_set_by_environment_variable() {
    let variables =
        [("ADJUTANT_NOTIFY_OPS_TIMEOUT", "3s"), ("ADJUTANT_NOTIFY_WEBHOOK_2_URL", "https://a/b")];
    let config = with(TOLD, &variables).expect("it is good");
    assert_eq!(config.notify[2].timeout, ConfigDuration::secs(3));
    assert_eq!(config.notify[1].url.as_deref(), Some("https://a/b"));
    let unknown = with(TOLD, &[("ADJUTANT_NOTIFY_OPS_TIMEOT", "3s")]).expect_err("no such one");
    let meant = "did you mean `ADJUTANT_NOTIFY_OPS_TIMEOUT`?";
    assert_eq!(unknown.hint.as_deref(), Some(meant));
}

#[test]
fn invalid_notify_rule_is_reported_with_its_line() {
    let rule = |settings: &str| {
        read(&format!(
            "[[notify]]\non = [\"done\"]\ntarget = \"console\"\n\n[[notify]]\n{settings}"
        ))
        .expect_err("it is refused")
    };
    let good = "on = [\"done\"]\ntarget = \"webhook\"\n";
    for (settings, what) in [
        ("on = []\ntarget = \"console\"", "`on` is empty"),
        (
            "on = [\"done\"]\ntarget = \"command\"",
            "`command`, the program and its arguments, is required for the target `command`",
        ),
        (
            "on = [\"done\"]\ntarget = \"console\"\nurl = \"https://a/\"",
            "`url` is only valid for the target `webhook`",
        ),
        (
            &format!("{good}url = \"example.com/secret\""),
            "`url` is not an address; an address begins with https:// or http:// and names a host",
        ),
        (
            &format!("{good}url = \"https://a/\"\nurl_env = \"A\""),
            "only one of `url`, `url_file` and `url_env` can be set",
        ),
        (
            &format!("{good}quiet = \"22-7\""),
            "`quiet` is not a time range; write two different times, such as \"22:00-07:00\"",
        ),
        (
            &format!("{good}quiet = \"22:00-07:00\"\ntime_zone = \"Mars/Olympus\""),
            "`time_zone`: this machine does not know the time zone \"Mars/Olympus\"",
        ),
        (
            &format!("{good}agents = [\"unknown\"]"),
            "`agents` names \"unknown\", which is not a configured agent",
        ),
        (
            &format!("{good}name = \"a b\""),
            "`name` must have 1 to 64 characters: letters, digits, `-` and `_`",
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
        wrong(Some(8), "unknown setting `urll` in [[notify]]", Some("did you mean `url`?"));
    assert_eq!(unknown, expected);
    let bad = rule("on = [\"dne\"]\ntarget = \"console\"");
    assert!(bad.message.contains("unknown value `dne`"), "{bad:?}");
}

#[test]
fn secret_variables_are_those_of_every_setting_that_names_one() {
    let own = |keys: keys::SettingKeys| {
        keys.iter().map(|(key, _)| *key).filter(|key| key.ends_with("_env")).collect::<Vec<_>>()
    };
    let mut expected = Vec::new();
    for key in own(keys::AGENT) {
        let name = format!("AGENT_{key}");
        let text =
            format!("[agents.a]\nkind = \"webhook\"\nurl = \"http://a/\"\n{key} = {name:?}\n");
        expected.push((text, name));
    }
    for key in own(keys::NOTIFY) {
        let name = format!("NOTIFY_{key}");
        let rule = "[[notify]]\non = [\"done\"]\ntarget = \"webhook\"\n";
        expected.push((format!("{rule}{key} = {name:?}\n"), name));
    }
    for (table, keys) in keys::TABLES {
        for key in own(keys) {
            let name = format!("{table}_{key}");
            expected.push((format!("[{table}]\n{key} = {name:?}\n"), name));
        }
    }
    assert!(expected.len() >= 3);
    for (text, name) in expected {
        assert_eq!(read(&text).expect("it is good").secret_variables(), [name], "{text}");
    }
}

#[test]
fn env_pass_is_refused_where_it_has_no_effect_or_names_a_secret() {
    let agent = |kind: &str| {
        let rule = "[[notify]]\non = [\"done\"]\ntarget = \"webhook\"\nurl_env = \"HOOK\"\n";
        let own = "command = [\"x\"]\nenv_pass = [\"HOOK\"]\n";
        read(&format!("{rule}[agents.a]\nkind = \"{kind}\"\n{own}")).expect_err("it is refused")
    };
    let unused = "[agents.a] `env_pass` is not valid for the kind command, which inherits the \
                  environment";
    assert_eq!(agent("command"), wrong(Some(5), unused, None));
    let secret = "[agents.a] `env_pass` names \"HOOK\", which holds a secret of Adjutant: no agent \
                  may see it";
    assert_eq!(agent("claude"), wrong(Some(5), secret, None));
}

#[test]
fn resource_limits_need_strict_sandbox_and_sensible_values() {
    let agent = |more: &str| format!("[agents.a]\nkind = \"claude\"\n{more}\n");
    let valid = |more: &str| {
        let agent = read(&agent(more)).expect("valid").agents["a"].clone();
        (agent.processes_max(), agent.memory_max.as_bytes())
    };
    assert_eq!(valid(""), (4096, None));
    assert_eq!(valid("processes_max = 512\nmemory_max = \"off\""), (512, None));
    assert_eq!(valid("memory_max = \"4GiB\"\nsandbox = \"strict\""), (4096, Some(4 << 30)));
    let error = |more: &str| read(&agent(more)).expect_err("refused").message;
    for size in ["4", "0GiB", "+4GiB", "4GB", "99999999999GiB", "GiB", "1.5GiB"] {
        let message = error(&format!("memory_max = {size:?}"));
        assert!(message.contains("expected \"off\" or a size like"), "{message}");
    }
    for processes in ["0", "511", "4194305"] {
        let message = error(&format!("processes_max = {processes}"));
        assert!(message.contains("at least 512 and at most 4194304"), "{message}");
    }
    for limit in ["processes_max = 4096", "memory_max = \"1GiB\""] {
        let message = error(&format!("sandbox = \"none\"\n{limit}"));
        assert!(message.contains("requires `sandbox = \"strict\"`"), "{message}");
    }
}

#[test]
fn network_is_a_word_or_a_list_of_hosts() {
    let agent = |more: &str| format!("[agents.a]\nkind = \"claude\"\n{more}\n");
    let open = read(&agent("network = \"open\"")).expect("valid");
    assert_eq!(open.agents["a"].network, NetworkAccess::Open);
    assert_eq!(read(&agent("")).expect("valid"), open);
    let error = |more: &str| read(&agent(more)).expect_err("refused").message;
    let closed = error("network = \"closed\"");
    assert!(closed.contains("\"open\", \"off\" or a list of hosts"), "{closed}");
    assert!(error("network = [\"*.example.com\"]").contains("list each host by its name"));
    assert!(error("network = [\"https://a.example\"]").contains("without a scheme"));
    assert!(error("network = [\"localhost\"]").contains("needs a port"));
    for network in ["\"off\"", "[\"api.example.com\"]", "[]"] {
        for sandbox in ["", "sandbox = \"landlock\"\nworkspace = \"worktree\""] {
            let message = error(&format!("network = {network}\n{sandbox}"));
            assert!(message.contains("requires `sandbox = \"strict\"`"), "{message}");
        }
    }
    let variable = [("ADJUTANT_AGENTS_A_NETWORK", "off")];
    let message = with(&agent(""), &variable).expect_err("refused").message;
    assert!(message.contains("requires `sandbox = \"strict\"`"), "{message}");
}
