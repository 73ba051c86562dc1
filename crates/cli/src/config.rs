//! Reads `adjutant.toml` from a data folder, and says what is wrong with it.

use std::path::Path;

use adjutant_runtime::config::{Config, FILE, Wrong};

use crate::error::Failure;

/// Reads the configuration of a data folder, with what the environment says on top.
pub(crate) fn load(root: &Path) -> Result<Config, Failure> {
    let path = root.join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(Failure::broken(format!("cannot read {}", path.display()), &error));
        }
    };
    // A name or value that is no text is no setting of ours.
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Config::read(&text, texts).map_err(|wrong| failure(wrong, &path))
}

fn failure(wrong: Wrong, path: &Path) -> Failure {
    let in_environment = wrong.line.is_none() && wrong.what.contains("ADJUTANT_");
    let failure = match wrong.line {
        _ if in_environment => Failure::usage(wrong.what),
        Some(line) => Failure::config(path, format!("line {line}: {}", wrong.what)),
        None => Failure::config(path, wrong.what),
    };
    match wrong.hint {
        Some(hint) => failure.hint(hint),
        None if in_environment => failure,
        None => failure.hint("`adjutant schema config` lists every setting"),
    }
}
