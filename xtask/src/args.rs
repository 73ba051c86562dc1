//! What a chore is asked for on the command line.

/// What `cargo xtask` alone prints.
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

/// How many times as many random cases a soak has, if nobody says.
const TIMES: u64 = 40;

/// How long the fuzzers run in all, if nobody says.
const MINUTES: u64 = 20;

/// A chore, with what it was given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Chore {
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

/// Reads the command line, or says what is wrong with it.
pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Chore, String> {
    let Some(name) = args.next() else { return Ok(Chore::Help) };
    match name.as_str() {
        "help" | "--help" | "-h" => Ok(Chore::Help),
        "test" => only_words(args.collect()).map(|parts| Chore::Test { parts }),
        "golden" => no_more(args, Chore::Golden),
        "clients" => no_more(args, Chore::Clients),
        "tools" => no_more(args, Chore::Tools),
        "browser" => no_more(args, Chore::Browser),
        "screenshots" => no_more(args, Chore::Screenshots),
        "soak" => {
            let (times, rest) = with_number("--times", TIMES, args)?;
            let (minutes, rest) = with_number("--minutes", MINUTES, rest.into_iter())?;
            no_more(only_words(rest)?.into_iter(), Chore::Soak { times, minutes })
        }
        "fuzz" => {
            let (minutes, rest) = with_number("--minutes", MINUTES, args)?;
            only_words(rest).map(|targets| Chore::Fuzz { targets, minutes })
        }
        "agents" => only_words(args.collect()).map(|parts| Chore::Agents { parts }),
        "bench" => Ok(Chore::Bench { args: args.collect() }),
        other => Err(format!("there is no chore `{other}`")),
    }
}

fn no_more(mut args: impl Iterator<Item = String>, chore: Chore) -> Result<Chore, String> {
    match args.next() {
        Some(extra) => Err(format!("`{extra}` was not expected")),
        None => Ok(chore),
    }
}

/// Takes an option with its number out of the rest.
fn with_number(
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

/// Lets nothing through that looks like an option.
fn only_words(args: Vec<String>) -> Result<Vec<String>, String> {
    match args.iter().find(|arg| arg.starts_with('-')) {
        Some(option) => Err(format!("`{option}` was not expected")),
        None => Ok(args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Result<Chore, &str>) {
        let parsed = parse(line.split_whitespace().map(str::to_owned));
        assert_eq!(parsed, expected.map_err(str::to_owned), "{line}");
    }

    #[test]
    fn every_chore_is_known_by_its_name() {
        check("", Ok(Chore::Help));
        check("--help", Ok(Chore::Help));
        check("test", Ok(Chore::Test { parts: vec![] }));
        let parts = vec!["lint".to_owned(), "core::pipeline".to_owned()];
        check("test lint core::pipeline", Ok(Chore::Test { parts }));
        check("golden", Ok(Chore::Golden));
        let soak = |times, minutes| Ok(Chore::Soak { times, minutes });
        check("soak", soak(TIMES, MINUTES));
        check("soak --minutes 3", soak(TIMES, 3));
        check("soak --minutes 3 --times 2", soak(2, 3));
        let fuzz = |minutes, targets: &[&str]| {
            Ok(Chore::Fuzz { targets: targets.iter().map(ToString::to_string).collect(), minutes })
        };
        check("fuzz", fuzz(MINUTES, &[]));
        check("fuzz names --minutes 1 message", fuzz(1, &["names", "message"]));
        check("agents", Ok(Chore::Agents { parts: vec![] }));
        check("agents codex", Ok(Chore::Agents { parts: vec!["codex".into()] }));
        check("bench --quick 3", Ok(Chore::Bench { args: vec!["--quick".into(), "3".into()] }));
    }

    #[test]
    fn what_is_not_understood_is_said() {
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
