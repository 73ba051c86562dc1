//! Parses the command line of `cargo xtask`.

/// The output of `cargo xtask` alone.
pub(crate) const HELP: &str = "\
The project's chores.

  cargo xtask test                         everything a change must pass; installs what it needs
  cargo xtask test PART…                   parts of it: format, lint, docs, clients, browser, golden,
                                           a crate (`core`), or tests of one (`core::pipeline`)
  cargo xtask golden                       renews the golden files; then look at `git diff golden`
  cargo xtask clients                      clients that are not ours alone: MCP's, and schemathesis
  cargo xtask tools                        only installs what the tests need
  cargo xtask browser                      the board in a real browser alone
  cargo xtask screenshots                  pictures of every page, to target/pictures
  cargo xtask soak [--times N] [--minutes M] the long versions: N times the random cases (40),
                                           every crash point, and M minutes of fuzzing (20)
  cargo xtask fuzz [TARGET]… [--minutes N] fuzzing alone: all targets or these, N minutes in all
  cargo xtask agents [PART]…               real agents at work and failing, offline; installs them
  cargo xtask bench [ARGS]                 benchmarks, with ratios to floors measured in the same run
";

/// The default factor for random cases in a soak.
const DEFAULT_TIMES: u64 = 40;

/// The default for all fuzzers together.
const DEFAULT_MINUTES: u64 = 20;

/// A command with its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum XtaskCommand {
    Help,
    Test { parts: Vec<String> },
    Golden,
    Clients,
    Tools,
    Browser,
    Screenshots,
    Soak { times: u64, minutes: u64 },
    Fuzz { targets: Vec<String>, minutes: u64 },
    Bench { args: Vec<String> },
    Agents { parts: Vec<String> },
}

/// Parses the command line, or returns what is wrong with it.
pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<XtaskCommand, String> {
    let Some(name) = args.next() else { return Ok(XtaskCommand::Help) };
    match name.as_str() {
        "help" | "--help" | "-h" => Ok(XtaskCommand::Help),
        "test" => refuse_options(args.collect()).map(|parts| XtaskCommand::Test { parts }),
        "golden" => expect_no_more(args, XtaskCommand::Golden),
        "clients" => expect_no_more(args, XtaskCommand::Clients),
        "tools" => expect_no_more(args, XtaskCommand::Tools),
        "browser" => expect_no_more(args, XtaskCommand::Browser),
        "screenshots" => expect_no_more(args, XtaskCommand::Screenshots),
        "soak" => {
            let (times, rest) = take_number("--times", DEFAULT_TIMES, args)?;
            let (minutes, rest) = take_number("--minutes", DEFAULT_MINUTES, rest.into_iter())?;
            expect_no_more(refuse_options(rest)?.into_iter(), XtaskCommand::Soak { times, minutes })
        }
        "fuzz" => {
            let (minutes, rest) = take_number("--minutes", DEFAULT_MINUTES, args)?;
            refuse_options(rest).map(|targets| XtaskCommand::Fuzz { targets, minutes })
        }
        "agents" => refuse_options(args.collect()).map(|parts| XtaskCommand::Agents { parts }),
        "bench" => Ok(XtaskCommand::Bench { args: args.collect() }),
        other => Err(format!("there is no chore `{other}`")),
    }
}

fn expect_no_more(
    mut args: impl Iterator<Item = String>,
    chore: XtaskCommand,
) -> Result<XtaskCommand, String> {
    match args.next() {
        Some(extra) => Err(format!("`{extra}` was not expected")),
        None => Ok(chore),
    }
}

/// Takes an option with its number out of the arguments.
fn take_number(
    option: &str,
    usual: u64,
    mut args: impl Iterator<Item = String>,
) -> Result<(u64, Vec<String>), String> {
    let (mut number, mut rest) = (usual, Vec::new());
    while let Some(arg) = args.next() {
        if arg == option {
            let given = args.next().and_then(|text| text.parse().ok());
            let given = given.filter(|number| *number > 0);
            number = given.ok_or_else(|| format!("{option} needs a number"))?;
        } else {
            rest.push(arg);
        }
    }
    Ok((number, rest))
}

/// Refuses arguments that look like an option.
fn refuse_options(args: Vec<String>) -> Result<Vec<String>, String> {
    match args.iter().find(|arg| arg.starts_with('-')) {
        Some(option) => Err(format!("`{option}` was not expected")),
        None => Ok(args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Result<XtaskCommand, &str>) {
        let parsed = parse(line.split_whitespace().map(str::to_owned));
        assert_eq!(parsed, expected.map_err(str::to_owned), "{line}");
    }

    #[test]
    fn command_line_names_every_chore() {
        check("", Ok(XtaskCommand::Help));
        check("--help", Ok(XtaskCommand::Help));
        check("test", Ok(XtaskCommand::Test { parts: vec![] }));
        let parts = vec!["lint".to_owned(), "core::pipeline".to_owned()];
        check("test lint core::pipeline", Ok(XtaskCommand::Test { parts }));
        check("golden", Ok(XtaskCommand::Golden));
        let soak = |times, minutes| Ok(XtaskCommand::Soak { times, minutes });
        check("soak", soak(DEFAULT_TIMES, DEFAULT_MINUTES));
        check("soak --minutes 3", soak(DEFAULT_TIMES, 3));
        check("soak --minutes 3 --times 2", soak(2, 3));
        let fuzz = |minutes, targets: &[&str]| {
            Ok(XtaskCommand::Fuzz {
                targets: targets.iter().map(ToString::to_string).collect(),
                minutes,
            })
        };
        check("fuzz", fuzz(DEFAULT_MINUTES, &[]));
        check("fuzz names --minutes 1 message", fuzz(1, &["names", "message"]));
        check("agents", Ok(XtaskCommand::Agents { parts: vec![] }));
        check("agents codex", Ok(XtaskCommand::Agents { parts: vec!["codex".into()] }));
        check(
            "bench --quick 3",
            Ok(XtaskCommand::Bench { args: vec!["--quick".into(), "3".into()] }),
        );
    }

    #[test]
    fn command_line_that_is_invalid_is_refused_with_a_reason() {
        check("sweep", Err("there is no chore `sweep`"));
        check("test --now", Err("`--now` was not expected"));
        check("golden now", Err("`now` was not expected"));
        check("soak message", Err("`message` was not expected"));
        check("soak --times many", Err("--times needs a number"));
        check("soak --hours 1", Err("`--hours` was not expected"));
        check("soak --minutes", Err("--minutes needs a number"));
        check("fuzz --minutes 0", Err("--minutes needs a number"));
        check("fuzz --hours 1", Err("`--hours` was not expected"));
    }
}
