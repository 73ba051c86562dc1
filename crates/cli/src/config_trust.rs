//! Asks the operator to accept `adjutant.toml`, before anything in it is run.

use adjutant_config::{Config, FILE, SettingChange};
use adjutant_model::command_text::exact_command;
use adjutant_run_files::trust_record::TrustRecord;

use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean};

/// The error code if the configuration is not accepted.
pub(crate) const UNACCEPTED_CONFIG: &str = "unaccepted_config";

/// The most settings that a refusal lists.
const CAUSES_MAX: usize = 20;

impl ProjectData {
    /// Returns the project with its whole configuration accepted. Asks on a terminal, and refuses
    /// elsewhere: the caller is about to run what the configuration says.
    pub(crate) fn with_accepted_config(
        &self,
        attempt: &str,
        out: &CommandOutput,
    ) -> Result<Self, CommandFailure> {
        if self.unaccepted().is_empty() {
            return Ok(self.clone());
        }
        if !out.is_interactive() {
            return Err(self.unaccepted_failure(attempt));
        }
        self.print_unaccepted(out)?;
        if !out.ask("Accept this configuration?")? {
            return Err(self.unaccepted_failure(attempt));
        }
        self.accept_config()?;
        Self::find(Some(self.folder.root())).map(Self::with_settled_sandboxes)
    }

    /// Records that the operator accepted the configuration as it was read.
    pub(crate) fn accept_config(&self) -> Result<(), CommandFailure> {
        accept_text(self, self.config_text())
    }

    /// Reports a configuration that is not accepted, with the settings that wait.
    pub(crate) fn unaccepted_failure(&self, attempt: &str) -> CommandFailure {
        let path = self.folder.root().join(FILE);
        let changes = self.unaccepted();
        let why = format!("{} has settings that you have not accepted", path.display());
        let mut causes = vec![why];
        causes.extend(changes.iter().take(CAUSES_MAX).map(|change| clean(&change_line(change))));
        if let Some(more) = changes.len().checked_sub(CAUSES_MAX).filter(|more| *more > 0) {
            causes.push(format!("{more} more"));
        }
        let hint = "`adjutant trust` shows what it would run and asks; `adjutant trust --yes` \
                    accepts it without asking";
        CommandFailure::refused_because(UNACCEPTED_CONFIG, attempt, causes).with_hint(hint)
    }

    /// Prints what the configuration would run, and how it differs from the accepted one.
    pub(crate) fn print_unaccepted(&self, out: &CommandOutput) -> Result<(), CommandFailure> {
        let path = self.folder.root().join(FILE);
        out.line(&format!("{} is not accepted yet.", clean(&path.display().to_string())))?;
        let commands = self.wanted_config().map(|config| config.commands()).unwrap_or_default();
        if !commands.is_empty() {
            out.line("It would run:")?;
            for (purpose, command) in &commands {
                out.line(&format!("  {}: {}", clean(purpose), clean(&exact_command(command))))?;
            }
        }
        out.line("Settings that were not accepted before (+ new, - removed, ~ changed):")?;
        for change in self.unaccepted() {
            out.line(&format!("  {}", clean(&change_line(change))))?;
        }
        Ok(())
    }

    /// Returns the configuration as the file has it.
    pub(crate) fn wanted_config(&self) -> Option<Config> {
        let variables = adjutant_config::environment_variables();
        Config::read(self.config_text(), variables.into_iter()).ok()
    }
}

/// Records that a configuration was accepted for a project.
pub(crate) fn accept_text(data: &ProjectData, text: &str) -> Result<(), CommandFailure> {
    let record = TrustRecord::find(data.folder.root());
    record.and_then(|record| record.accept(text)).map_err(|error| {
        CommandFailure::broken("cannot record that the configuration is accepted", &error)
            .with_hint(
                "the record is in $XDG_STATE_HOME/adjutant, else in ~/.local/state/adjutant; \
             `ADJUTANT_TRUST=accept` accepts a configuration without a record",
            )
    })
}

fn change_line(change: &SettingChange) -> String {
    let name = &change.name;
    match (&change.before, &change.after) {
        (None, after) => format!("+ {name} = {}", after.as_deref().unwrap_or_default()),
        (Some(before), None) => format!("- {name} = {before}"),
        (Some(before), Some(after)) => format!("~ {name} = {after} (was {before})"),
    }
}
