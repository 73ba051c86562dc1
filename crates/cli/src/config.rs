//! Reads `adjutant.toml` from a data folder and explains its errors.

use std::path::Path;

use adjutant_config::{Config, ConfigError, FILE};

use crate::output::error::CommandFailure;

/// Reads the configuration of a data folder. Environment variables override the file.
pub(crate) fn load(root: &Path) -> Result<Config, CommandFailure> {
    let path = root.join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(CommandFailure::broken(format!("cannot read {}", path.display()), &error));
        }
    };
    Config::read_with_environment(&text).map_err(|wrong| failure(wrong, &path))
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
