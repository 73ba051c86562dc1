//! Reads `adjutant.toml` from a data folder, as far as it is accepted, and explains its errors.

use std::path::Path;

use adjutant_config::{AcceptedConfig, ConfigError, FILE, environment_variables};
use adjutant_daemon::accept_config;
use adjutant_model::command::CommandCaller;
use adjutant_run_files::trust_record::TrustRecord;

use crate::caller::caller_for_folder;
use crate::output::error::CommandFailure;

/// Reads the text of the configuration; a file that is missing is empty.
pub(crate) fn read_text(root: &Path) -> Result<String, CommandFailure> {
    let path = root.join(FILE);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => {
            Err(CommandFailure::broken(format!("cannot read {}", path.display()), &error))
        }
    }
}

/// Parses the configuration of a data folder, as far as the operator accepted it. Environment
/// variables override the file.
pub(crate) fn parse(root: &Path, text: &str) -> Result<AcceptedConfig, CommandFailure> {
    let record = TrustRecord::find(root).ok();
    let accepted = match caller_for_folder(root) {
        CommandCaller::InsideRun(_) => read_inside_run(text, record.as_ref()),
        CommandCaller::Operator(_) => accept_config(text, record.as_ref()),
    };
    accepted.map_err(|wrong| failure(wrong, &root.join(FILE)))
}

/// A process inside a run can accept nothing and starts nothing but as its run. It may not even see
/// the operator's state folder; then it takes the file as it is.
fn read_inside_run(
    text: &str,
    record: Option<&TrustRecord>,
) -> Result<AcceptedConfig, ConfigError> {
    let variables = environment_variables();
    let read = match record.and_then(TrustRecord::read) {
        Some(accepted) => AcceptedConfig::read(text, Some(&accepted), &variables)?,
        None => AcceptedConfig::whole(text, &variables)?,
    };
    Ok(AcceptedConfig { pending: vec![], ..read })
}

fn failure(wrong: ConfigError, path: &Path) -> CommandFailure {
    let in_environment = wrong.line.is_none() && wrong.message.contains("ADJUTANT_");
    let failure = match wrong.line {
        _ if in_environment => CommandFailure::report_usage_error(wrong.message),
        Some(line) => CommandFailure::config(path, format!("line {line}: {}", wrong.message)),
        None => CommandFailure::config(path, wrong.message),
    };
    match wrong.hint {
        Some(hint) => failure.with_hint(hint),
        None if in_environment => failure,
        None => failure.with_hint("`adjutant schema config` lists every setting"),
    }
}
