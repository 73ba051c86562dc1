//! Golden files of every command's `--help`, of the manual page and of the shell completions.

use adjutant_test_support::golden::GoldenFolder;
use serde_json::json;

use super::commands::all_commands;
use super::project::GoldenProject;
use crate::commands::support::document;

/// Returns the values of a list such as `[possible values: bash, zsh]` in a help text.
pub(super) fn possible_values(help: &str) -> Vec<String> {
    let flat = help.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(list) = flat.split("[possible values: ").nth(1) {
        let list = list.split(']').next().unwrap_or_default();
        return list.split(", ").map(str::to_owned).collect();
    }
    // The long help lists each value on its own line.
    let list = help.split("Possible values:\n").nth(1).unwrap_or_default();
    let lines = list.lines().map_while(|line| line.trim_start().strip_prefix("- "));
    lines.map(|line| line.split(':').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn help_of_every_command_matches_golden_files() {
    let project = GoldenProject::empty();
    let mut folder = GoldenFolder::new("help");
    for command in all_commands(&project) {
        let name = format!("adjutant {}", command.name).trim().replace(' ', "-");
        let short = project.ok(&format!("{} -h", command.name));
        if short != command.long {
            folder.add(format!("{name}.short.txt"), short);
        }
        folder.add(format!("{name}.txt"), command.long);
    }
    folder.check();
}

#[test]
fn manual_and_completions_match_golden_files() {
    let project = GoldenProject::empty();
    let mut folder = GoldenFolder::new("manual");
    let page = project.ok("man");
    assert_eq!(project.json("man"), json!({"page": page.trim_end()}));
    folder.add("adjutant.1", page);
    let shells = possible_values(&project.ok("completions --help"));
    assert!(shells.len() > 1, "{shells:?}");
    for shell in shells {
        let script = project.ok(&format!("completions {shell}"));
        let wrapped = document(&project.ok(&format!("completions {shell} --json")));
        assert_eq!(wrapped, json!({"script": script.trim_end()}));
        folder.add(format!("completions.{shell}"), script);
    }
    folder.check();
}
