//! A data folder that another user owns or can write to is refused by every command.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use adjutant_test_support::skip::skip;

use super::project::{CautiousProject, agent};
use crate::commands::support::{document, run};

/// The user `nobody`.
const OTHER_USER: u32 = 65534;

/// Commands that read a data folder, change it, or run what it says.
const COMMANDS: [&[&str]; 14] = [
    &["task", "add", "One"],
    &["task", "list"],
    &["approve", "001"],
    &["inbox"],
    &["why", "001"],
    &["up", "--until-idle"],
    &["tick"],
    &["status"],
    &["agents"],
    &["trust", "--yes"],
    &["doctor"],
    &["events"],
    &["export", "../x.tar"],
    &["init", "."],
];

/// Returns every path below a folder, with its mode and its content.
fn snapshot(folder: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let (path, metadata) = (entry.path(), entry.metadata().expect("it is there"));
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            found.push((path.clone(), metadata.mode(), fs::read(&path).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

fn give_away(folder: &Path) {
    chown(folder, Some(OTHER_USER), Some(OTHER_USER)).expect("given away");
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        if entry.metadata().expect("it is there").is_dir() {
            give_away(&entry.path());
        } else {
            chown(entry.path(), Some(OTHER_USER), Some(OTHER_USER)).expect("given away");
        }
    }
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip("only root can give a folder to another user", "run the tests as root");
    }
    root
}

#[test]
fn folder_of_another_user_is_refused_by_root() {
    if !is_root() {
        return;
    }
    let project = CautiousProject::new();
    project.configure(&agent("touch obeyed; adjutant report done"));
    project.does(&["trust", "--yes"]);
    project.does(&["task", "add", "One", "--agent", "dev", "--status", "ready"]);
    give_away(&project.path(""));
    let before = snapshot(&project.path(""));
    for args in COMMANDS {
        let error = project.refused(args);
        if args[0] == "init" {
            continue;
        }
        assert_eq!(error["code"], "unsafe_folder", "{args:?}: {error}");
        let hint = error["hint"].as_str().expect("a hint");
        assert!(hint.contains("chown -R 0 "), "{args:?}: {hint}");
    }
    assert_eq!(snapshot(&project.path("")), before, "nothing was changed");
    assert!(!project.root().join("obeyed").exists());
    // The same for a data folder that is named.
    let data = project.path("");
    let named = project.refused(&["task", "list", "--data", data.to_str().expect("a path")]);
    assert_eq!(named["code"], "unsafe_folder");
    // `sudo` is no exception.
    let mut sudo = project.command(&["task", "list", "--json"]);
    let ran = run(sudo.env("SUDO_UID", OTHER_USER.to_string()).env("SUDO_USER", "nobody"));
    assert_eq!((ran.code, &document(&ran.out)["error"]["code"]), (1, &"unsafe_folder".into()));
}

#[test]
fn folder_of_root_is_refused_by_ordinary_user() {
    if !is_root() {
        return;
    }
    let project = CautiousProject::new();
    for folder in [project.temp().to_owned(), project.root(), project.path("")] {
        fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("opened");
    }
    let mut command = project.command(&["task", "list", "--json"]);
    let ran = run(command.uid(OTHER_USER).gid(OTHER_USER));
    assert_eq!(ran.code, 1, "{ran:?}");
    let error = &document(&ran.out)["error"];
    assert_eq!(error["code"], "unsafe_folder");
    let hint = error["hint"].as_str().expect("a hint");
    assert!(hint.contains(&format!("sudo chown -R {OTHER_USER} ")), "{hint}");
}

#[test]
fn folder_that_others_can_write_to_is_refused_until_it_is_closed() {
    for (place, mode) in [
        ("", 0o777),
        ("", 0o770),
        ("tasks", 0o777),
        ("tasks/ready", 0o777),
        ("adjutant.toml", 0o666),
        ("journal", 0o770),
    ] {
        let project = CautiousProject::new();
        // Others can enter the folder, as in a clone.
        fs::set_permissions(project.path(""), Permissions::from_mode(0o755)).expect("opened");
        fs::set_permissions(project.path(place), Permissions::from_mode(mode)).expect("opened");
        let before = snapshot(&project.path(""));
        for args in COMMANDS.iter().filter(|args| args[0] != "init") {
            let error = project.refused(args);
            assert_eq!(error["code"], "unsafe_folder", "{place} {args:?}: {error}");
        }
        assert_eq!(snapshot(&project.path("")), before, "{place}: nothing was changed");
        let hint = project.refused(&["status"])["hint"].as_str().expect("a hint").to_owned();
        let fix = hint.split('`').nth(1).expect("a command");
        let fixed = std::process::Command::new("sh").args(["-c", fix]).status();
        assert!(fixed.expect("a shell").success(), "{fix}");
        project.does(&["task", "add", "One"]);
    }
}

#[test]
fn files_of_closed_folder_may_be_writable_for_a_group() {
    let project = CautiousProject::new();
    fs::set_permissions(project.path("tasks"), Permissions::from_mode(0o775)).expect("opened");
    project.does(&["task", "add", "One"]);
}

#[test]
fn files_are_created_for_the_owner_only() {
    let project = CautiousProject::empty();
    let script = "\
umask 000
adjutant init . > /dev/null
cat > .adjutant/adjutant.toml <<'TOML'
[project]
checks = [\"true\"]
[agents.dev]
kind = \"command\"
command = [\"sh\", \"-c\", \"adjutant report done\"]
TOML
chmod 600 .adjutant/adjutant.toml
adjutant trust --yes > /dev/null
adjutant task add One --agent dev --status ready --check true > /dev/null
adjutant up --until-idle > /dev/null
adjutant task add Two --agent dev --status ready > /dev/null
adjutant up --detach --listen 127.0.0.1:0 > /dev/null
adjutant down --stop > /dev/null
";
    let program = Path::new(env!("CARGO_BIN_EXE_adjutant")).parent().expect("a folder");
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = [program.to_owned()].into_iter().chain(std::env::split_paths(&others));
    let mut shell = std::process::Command::new("sh");
    let own = project.command(&[]);
    for (name, value) in own.get_envs().filter(|(name, _)| *name != "ADJUTANT_SERVER_LISTEN") {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.env("PATH", std::env::join_paths(path).expect("a path")).current_dir(project.root());
    let ran = run(shell.args(["-ec", script]));
    assert_eq!(ran.code, 0, "{ran:?}");
    let open = |(path, mode, _): &(PathBuf, u32, Vec<u8>)| {
        // The mode of a link says nothing.
        let is_link = mode & 0o170_000 == 0o120_000;
        (!is_link && mode & 0o077 != 0).then(|| format!("{:o} {}", mode & 0o777, path.display()))
    };
    let places = [project.path(""), project.temp().join("state")];
    let found: Vec<String> =
        places.iter().flat_map(|place| snapshot(place)).filter_map(|it| open(&it)).collect();
    assert_eq!(found, Vec::<String>::new());
}
