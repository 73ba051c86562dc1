//! Golden files of the errors for an unusable `adjutant.toml`.

use std::fmt::Write as _;

use crate::golden::project::GoldenProject;
use crate::golden::transcript::{OutputForm, RecordedCall};

/// A description of the mistake, and the settings that contain it.
const WRONG: &[(&str, &str)] = &[
    ("an unknown section", "[protocl]\n"),
    ("an unknown key with one like it", "[protocol]\nrequire_tokn = true\n"),
    ("an unknown key like no other", "[scheduler]\ncolour = \"blue\"\n"),
    ("an unknown key of an agent", "[agents.a]\nkind = \"command\"\ncomand = [\"x\"]\n"),
    ("a text where a boolean belongs", "[protocol]\nrequire_token = \"yes\"\n"),
    ("a number where a section belongs", "protocol = 3\n"),
    ("not TOML", "[protocol\n"),
    ("a key twice", "[protocol]\nrequire_token = true\nrequire_token = true\n"),
    ("a length of time that is none", "[scheduler]\npoll = \"soon\"\n"),
    ("a number that is too small", "[scheduler]\nattempts_max = 0\n"),
    ("no concurrency", "[scheduler]\nconcurrency = 0\n"),
    ("an unknown kind of agent", "[agents.a]\nkind = \"robot\"\n"),
    ("an agent without a kind", "[agents.a]\nslots = 1\n"),
    ("a command agent without a command", "[agents.a]\nkind = \"command\"\n"),
    ("a script agent without a script", "[agents.a]\nkind = \"script\"\n"),
    ("a webhook agent without an address", "[agents.a]\nkind = \"webhook\"\n"),
    ("a script for an agent that has none", "[agents.a]\nkind = \"claude\"\nscript = \"x\"\n"),
    ("a name no agent can have", "[agents.scheduler]\nkind = \"claude\"\n"),
    ("no slots", "[agents.a]\nkind = \"claude\"\nslots = 0\n"),
    ("an unknown dialect", "[agents.a]\nkind = \"claude\"\ndialect = \"french\"\n"),
    ("an unknown sandbox", "[agents.a]\nkind = \"claude\"\nsandbox = \"jail\"\n"),
    ("an unknown way to merge", "[project]\nmerge = \"octopus\"\n"),
    ("an empty check", "[project]\nchecks = [\"\"]\n"),
    ("an address that is none", "[server]\nlisten = \"everywhere\"\n"),
    ("an unknown level", "[log]\nlevel = \"loud\"\n"),
    ("a store that is none", "store = \"ftp://example.com\"\n"),
    ("a rule for nothing", "[[notify]]\non = []\ntarget = \"console\"\n"),
    ("an unknown notice", "[[notify]]\non = [\"dne\"]\ntarget = \"console\"\n"),
    ("an unknown target", "[[notify]]\non = [\"done\"]\ntarget = \"pigeon\"\n"),
    ("a rule without its command", "[[notify]]\non = [\"done\"]\ntarget = \"command\"\n"),
    (
        "an unknown key of a rule",
        "[[notify]]\non = [\"done\"]\ntarget = \"webhook\"\nurll = \"x\"\n",
    ),
    (
        "a rule for an agent that is not there",
        "[[notify]]\non = [\"done\"]\ntarget = \"console\"\nagents = [\"unknown\"]\n",
    ),
    (
        "quiet hours that are none",
        "[[notify]]\non = [\"done\"]\ntarget = \"console\"\nquiet = \"22-7\"\n",
    ),
];

/// Runs a command with each of the settings.
pub(super) fn record() -> String {
    let project = GoldenProject::new();
    let mut text = String::new();
    for (note, settings) in WRONG {
        project.write(".adjutant/adjutant.toml", settings);
        let call = RecordedCall::new(note, "task list");
        let recorded = call.recorded(&project, OutputForm::Text);
        let shown = settings.replace('\n', "\n| ");
        let (head, rest) = recorded.split_once('\n').expect("a note");
        let _ = write!(text, "{head}\n| {}\n{rest}\n", shown.trim_end_matches("\n| "));
    }
    let call = RecordedCall::new("as JSON", "task list");
    text + &call.recorded(&project, OutputForm::Json)
}
