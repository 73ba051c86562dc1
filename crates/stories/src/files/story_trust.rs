//! What the files of a project's stories would run, and how much of it the operator accepted.
//!
//! Files of a project say what is run: the commands of the step rules, and the stories whose steps
//! agents do by themselves. Like a configuration, they count only as far as the operator accepted
//! them. The record is outside the project, and belongs to the path of the folder `.ai`.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

use adjutant_core::story::StepRuleTable;
use adjutant_model::story::StoryId;
use adjutant_process::test_runner::test_command::is_found_command;
use adjutant_run_files::trust_record::{TrustRecord, is_accepted_by_environment, is_inside_run};
use serde::{Deserialize, Serialize};

use super::rules;

/// The commands of the rules that every project has.
static OWN_COMMANDS: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| rule_commands(&rules::defaults()));

/// How much of a project's stories the operator accepted.
#[derive(Debug, Clone)]
pub enum StoryTrust {
    /// Everything: the operator's environment says so, or the process is inside a run and so does
    /// nothing that the run could not do itself.
    Everything,
    /// What the record names; no record can be written if there is no state folder.
    Recorded(Box<AcceptedStories>, Option<TrustRecord>),
}

/// What the operator accepted for one project.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AcceptedStories {
    /// The commands of step rules.
    #[serde(default)]
    commands: BTreeSet<String>,
    /// The stories whose steps agents may do.
    #[serde(default)]
    auto: BTreeSet<StoryId>,
}

impl StoryTrust {
    /// Reads the record of the project at a folder.
    pub fn find(root: &Path) -> Self {
        if is_accepted_by_environment() || is_inside_run() {
            return Self::Everything;
        }
        let record = TrustRecord::find(&root.join(".ai")).ok();
        let text = record.as_ref().and_then(TrustRecord::read);
        let accepted = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Self::Recorded(Box::new(accepted), record)
    }

    /// Returns whether a command may be run. The commands that Adjutant brings, or finds by itself,
    /// need no acceptance.
    pub fn allows_command(&self, line: &str) -> bool {
        let is_ours = || is_found_command(line) || OWN_COMMANDS.contains(line);
        match self {
            Self::Everything => true,
            Self::Recorded(accepted, _) => accepted.commands.contains(line) || is_ours(),
        }
    }

    /// Returns the commands of step rules that the operator has not accepted.
    pub fn unaccepted_commands(&self, rules: &StepRuleTable) -> Vec<String> {
        rule_commands(rules).into_iter().filter(|line| !self.allows_command(line)).collect()
    }

    /// Returns whether agents may do the steps of a story by themselves.
    pub fn allows_auto(&self, story: &StoryId) -> bool {
        match self {
            Self::Everything => true,
            Self::Recorded(accepted, _) => accepted.auto.contains(story),
        }
    }

    /// Records that the operator accepts commands and automatic stories, beside those accepted
    /// before. The caller holds the lock of the stories, so that no acceptance is lost.
    pub fn accept(
        &self,
        root: &Path,
        commands: impl IntoIterator<Item = String>,
        auto: impl IntoIterator<Item = StoryId>,
    ) -> io::Result<()> {
        let Self::Recorded(..) = self else { return Ok(()) };
        // Read again under the lock.
        let Self::Recorded(mut accepted, record) = Self::find(root) else { return Ok(()) };
        let record = record.ok_or_else(|| io::Error::other("there is no state folder"))?;
        accepted.commands.extend(commands);
        accepted.auto.extend(auto);
        record.accept(&serde_json::to_string(&*accepted)?)
    }
}

/// Returns the commands that step rules can run.
fn rule_commands(rules: &StepRuleTable) -> BTreeSet<String> {
    let checks = rules.iter().filter_map(|(_, rule)| rule.post_check.clone());
    checks.chain(rules.test_command.clone()).collect()
}
