//! Finds the version of an agent's program, for agents that do not report it themselves.
//!
//! The program runs with `--version` once, and again only after its file changed. An update
//! overnight is noticed, and a run needs no extra process.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use adjutant_config::{Agent, Kind};
use parking_lot::Mutex;

use super::{inherited_environment, tested_versions};

/// How long `--version` may take.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);
/// How much of the output of `--version` is read.
const BYTES_MAX: u64 = 4 << 10;

/// The program file's modification time when it was asked, and the warning about its version.
type CachedVersionWarning = (SystemTime, Option<String>);

/// Cached version warnings, by program path.
#[derive(Debug, Default)]
pub struct VersionWarnings(Mutex<BTreeMap<PathBuf, CachedVersionWarning>>);

impl VersionWarnings {
    /// Returns a warning if the program's version was not tested. Agents that report their version
    /// themselves are skipped.
    pub fn warning(&self, kind: Kind, program: &str) -> Option<String> {
        if !matches!(kind, Kind::Codex | Kind::Goose) {
            return None;
        }
        let path = find_program(program)?;
        let changed = path.metadata().and_then(|file| file.modified()).ok()?;
        let mut known = self.0.lock();
        match known.get(&path) {
            Some((at, warning)) if *at == changed => warning.clone(),
            Some(_) | None => {
                let version = query_version(kind, &path);
                let warning =
                    version.and_then(|version| tested_versions(kind)?.version_warning(&version));
                known.insert(path, (changed, warning.clone()));
                warning
            }
        }
    }
}

/// Finds a program in `PATH`, like a shell.
fn find_program(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Runs `--version`; `None` if the program fails, takes too long or prints no version.
fn query_version(kind: Kind, program: &Path) -> Option<String> {
    let environment = inherited_environment(&Agent::new(kind), &[], BTreeMap::new());
    let inherited =
        std::env::vars_os().filter(|(name, _)| environment.inherits(&name.to_string_lossy()));
    let mut command = Command::new(program);
    command.env_clear().envs(inherited);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let until = Instant::now() + VERSION_TIMEOUT;
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
        sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let ended = child.wait().is_ok_and(|status| status.success());
    let mut said = String::new();
    child.stdout.take()?.take(BYTES_MAX).read_to_string(&mut said).ok()?;
    said.split_whitespace().find(|word| is_version(word)).map(str::to_owned).filter(|_| ended)
}

fn is_version(word: &str) -> bool {
    let parts: Vec<&str> = word.split(['.', '-']).collect();
    parts.len() >= 3 && parts[..3].iter().all(|part| part.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn program(folder: &Path, says: &str) -> String {
        let path = folder.join("codex");
        let staged = folder.join("staged");
        fs::write(
            &staged,
            format!("#!/bin/sh\necho asked >>{0}/asked\n{says}\n", folder.display()),
        )
        .expect("written");
        fs::set_permissions(&staged, fs::Permissions::from_mode(0o700)).expect("a program");
        fs::rename(&staged, &path).expect("in its place");
        path.display().to_string()
    }

    #[test]
    fn version_is_asked_once_until_program_changes() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let asked =
            || fs::read_to_string(home.path().join("asked")).map_or(0, |all| all.lines().count());
        let versions = VersionWarnings::default();
        let path = program(home.path(), "echo codex-cli 99.0.1");
        let warning = versions.warning(Kind::Codex, &path).expect("it is untried");
        assert!(warning.contains("99.0.1"), "{warning}");
        assert_eq!(versions.warning(Kind::Codex, &path), Some(warning));
        assert_eq!(asked(), 1);
        assert_eq!(versions.warning(Kind::Claude, &path), None, "it says so itself");
        sleep(Duration::from_millis(20));
        let path = program(home.path(), "echo codex-cli 0.166.0");
        assert_eq!(versions.warning(Kind::Codex, &path), None, "that one was tried");
        assert_eq!(asked(), 2);
    }

    #[test]
    fn version_that_is_unknown_gives_no_warning() {
        let home = tempfile::tempdir().expect("a temporary folder");
        for says in ["echo hello", "echo 9.9.9; exit 1", "true"] {
            let versions = VersionWarnings::default();
            let path = program(home.path(), says);
            assert_eq!(versions.warning(Kind::Codex, &path), None, "{says}");
        }
        assert_eq!(VersionWarnings::default().warning(Kind::Goose, "/no/such/program"), None);
    }
}
