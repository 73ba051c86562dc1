//! Which version of its program an agent has, where the agent does not say so itself.
//!
//! The program is asked once, and again only when it has changed: an update in the night is seen,
//! and a run costs no further process.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use super::tried;
use crate::config::Kind;

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(5);
/// How much of what it says is read.
const BYTES_MAX: u64 = 4 << 10;

/// What is known of a program: what it was when it was asked, and what is to be said of it.
type Asked = (SystemTime, Option<String>);

/// What programs said of their versions.
#[derive(Debug, Default)]
pub(crate) struct Versions(Mutex<BTreeMap<PathBuf, Asked>>);

impl Versions {
    /// Returns what whoever reads what an agent tells should know of its program, if anything: that
    /// nobody tried this version. Agents that tell their version themselves are not asked.
    pub(crate) fn warning(&self, kind: Kind, program: &str) -> Option<String> {
        if !matches!(kind, Kind::Codex | Kind::Goose) {
            return None;
        }
        let path = find(program)?;
        let changed = path.metadata().and_then(|file| file.modified()).ok()?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(&path) {
            Some((at, warning)) if *at == changed => warning.clone(),
            Some(_) | None => {
                let version = ask(&path);
                let warning = version.and_then(|version| tried(kind)?.warns(&version));
                known.insert(path, (changed, warning.clone()));
                warning
            }
        }
    }
}

/// Finds a program as a shell does.
fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Asks a program for its version. One that takes too long, or says nothing like one, has none.
fn ask(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let until = Instant::now() + PATIENCE;
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
    fn a_program_is_asked_once_until_it_changes() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let asked =
            || fs::read_to_string(home.path().join("asked")).map_or(0, |all| all.lines().count());
        let versions = Versions::default();
        let path = program(home.path(), "echo codex-cli 99.0.1");
        let warning = versions.warning(Kind::Codex, &path).expect("nobody tried that");
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
    fn one_that_says_nothing_of_use_is_not_spoken_of() {
        let home = tempfile::tempdir().expect("a temporary folder");
        for says in ["echo hello", "echo 9.9.9; exit 1", "true"] {
            let versions = Versions::default();
            let path = program(home.path(), says);
            assert_eq!(versions.warning(Kind::Codex, &path), None, "{says}");
        }
        assert_eq!(Versions::default().warning(Kind::Goose, "/no/such/program"), None);
    }
}
