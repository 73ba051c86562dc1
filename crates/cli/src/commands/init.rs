//! `adjutant init`: makes a data folder.

use std::fmt::Write as _;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_runtime::config::{self, Kind};
use adjutant_runtime::testrun::command::{Plain, plain};
use adjutant_store::document::TASKS;
use adjutant_store::file::{DATA_FOLDER, Folder};
use serde_json::{Value, json};

use crate::data::{Data, from_environment};
use crate::error::Failure;
use crate::machine;
use crate::output::{Output, clean};

/// Make a data folder for a project: DIR/.adjutant
#[derive(Debug, clap::Args)]
pub(crate) struct Init {
    /// The folder of the project [default: this one]
    dir: Option<PathBuf>,
}

/// What a project that is in git keeps to itself.
const IGNORED_FILE: &str = ".gitignore";

const IGNORED: &str = "\
# What belongs to this machine; everything else can be put in git.
/journal/
/secret
/secret.*
/daemon.log*
/operator-token
shim.*
";

/// The line of the template below which the test command stands.
const TESTS: &str = "# `test_command` names the command that runs the project's tests: the check where \
                     there is no other.\n";

impl Init {
    pub(crate) fn run(self, named: Option<&Path>, out: &Output) -> Result<ExitCode, Failure> {
        let folder = make(self.dir, named)?;
        let (found, tests) = (found(), plain(&folder.workspace()));
        write_new(&folder.root().join(config::FILE), &settings(&found, tests.as_ref()))?;
        write_new(&folder.root().join(IGNORED_FILE), IGNORED)?;
        // Opened once, so that whatever is put into it from now on is told from what was there.
        Data::find(Some(folder.root()))?.engine()?.rest()?;
        let root = std::path::absolute(folder.root()).unwrap_or(folder.root().to_owned());
        let root = root.display().to_string();
        if out.is_json() {
            out.document(&document(&root, &found, tests.as_ref()))?;
        } else {
            out.line(&format!("made {root}"))?;
            if let Some(Plain { line, file }) = &tests {
                out.line(&format!("its tests are run by `{line}`, as {file} says"))?;
            }
            out.line(&next(&found))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn document(root: &str, found: &[Found], tests: Option<&Plain>) -> Value {
    let agent = |one: &Found| json!({"kind": one.kind.as_str(), "program": one.path, "signedIn": one.ready});
    json!({
        "data": root,
        "testCommand": tests.map(|tests| &tests.line),
        "agents": found.iter().map(agent).collect::<Vec<_>>(),
    })
}

/// An agent that was found, and whether somebody is signed in with it.
struct Found {
    kind: Kind,
    path: PathBuf,
    ready: bool,
}

fn found() -> Vec<Found> {
    let one = |(kind, path)| Found { kind, path, ready: machine::is_signed_in(kind) };
    machine::agents().into_iter().map(one).collect()
}

/// Returns the configuration to begin with: every agent that was found has its lines, commented out
/// unless somebody is signed in with it, and everything else in it is commented out.
fn settings(found: &[Found], tests: Option<&Plain>) -> String {
    let mut text = config::TEMPLATE.to_owned();
    if let Some(Plain { line, file }) = tests {
        let own = format!("{TESTS}# Found by {file}.\ntest_command = {line:?}\n");
        text = text.replacen(TESTS, &own, 1);
    }
    for Found { kind, path, ready } in found {
        let (kind, path) = (kind.as_str(), clean(&path.display().to_string()));
        let (sign, why) = if *ready {
            ("", "")
        } else {
            ("# ", "; whether somebody is signed in cannot be seen")
        };
        let _ = write!(
            text,
            "\n# Found on this machine: {path}{why}\n{sign}[agents.{kind}]\n{sign}kind = \"{kind}\"\n{sign}mode = \"code\"\n{sign}slots = 1\n"
        );
    }
    text
}

/// Says what to type next: with an agent to work, it goes on by itself.
fn next(found: &[Found]) -> String {
    let names = |ready: bool| -> Vec<&str> {
        found.iter().filter(|one| one.ready == ready).map(|one| one.kind.as_str()).collect()
    };
    let (ready, others) = (names(true), names(false));
    let mut lines = Vec::new();
    if !others.is_empty() {
        let others = others.join(", ");
        lines.push(format!("found, and not seen to be signed in: {others}; see adjutant.toml"));
    }
    lines.push(if ready.is_empty() {
        "next: `adjutant task add TITLE`, then `adjutant task list`".to_owned()
    } else {
        let who = ready.join(", ");
        format!("found: {who}\nnext: `adjutant task add TITLE --status ready`, then `adjutant up`")
    });
    lines.join("\n")
}

/// Writes a file for the owner only. One that is there already stays.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made.and_then(|mut file| file.write_all(text.as_bytes())) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(Failure::broken(format!("cannot write {}", path.display()), &error))
        }
        _ => Ok(()),
    }
}

/// A project that is named counts more than a data folder that the environment names.
fn make(dir: Option<PathBuf>, named: Option<&Path>) -> Result<Folder, Failure> {
    match (dir, named.map(Path::to_owned)) {
        (Some(dir), None) => Ok(Folder::init(&dir)?),
        (Some(dir), Some(data)) if data == dir.join(DATA_FOLDER) => Ok(Folder::init(&dir)?),
        (Some(_), Some(_)) => Err(Failure::usage("DIR and --data name different folders")
            .hint("`adjutant init DIR` makes DIR/.adjutant, `adjutant init --data DIR` makes DIR")),
        (None, data) => match data.or_else(from_environment) {
            Some(data) => make_at(&data),
            None => Ok(Folder::init(Path::new("."))?),
        },
    }
}

/// Makes a data folder of any name: what makes one is its `tasks`, the rest is made by opening it.
fn make_at(data: &Path) -> Result<Folder, Failure> {
    if Folder::at(data).is_ok() {
        return Err(adjutant_store::file::FolderError::Exists(data.to_owned()).into());
    }
    let made = DirBuilder::new().recursive(true).mode(0o700).create(data.join(TASKS));
    made.map_err(|error| Failure::broken(format!("cannot make {}", data.display()), &error))?;
    Ok(Folder::at(data)?)
}
