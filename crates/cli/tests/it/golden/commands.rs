//! Every command of the binary, found by walking through its help.

use super::project::GoldenProject;

/// A command, as its help shows it.
pub(super) struct CommandHelp {
    /// The words of the command after `adjutant`, as `task add`; empty for the program itself.
    pub(super) name: String,
    /// What `--help` prints.
    pub(super) long: String,
}

impl CommandHelp {
    /// Returns whether the command does something by itself, and is not only a name for others.
    pub(super) fn is_runnable(&self) -> bool {
        !self.usage().contains("<COMMAND>")
    }

    fn usage(&self) -> &str {
        self.long.lines().find(|line| line.starts_with("Usage: ")).expect("a usage line")
    }

    fn subcommands(&self) -> Vec<String> {
        let listed = self.long.split("Commands:\n").nth(1).unwrap_or_default();
        let listed = listed.split("\n\n").next().unwrap_or_default();
        // A description may continue on the next line, further in.
        let first = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
        let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
        listed.lines().filter(first).filter_map(name).collect()
    }
}

/// Returns every command, the program itself first.
pub(super) fn all_commands(project: &GoldenProject) -> Vec<CommandHelp> {
    let mut found = Vec::new();
    let mut names = vec![String::new()];
    while let Some(name) = names.pop() {
        let long = project.ok(&format!("{name} --help"));
        let command = CommandHelp { name, long };
        let below = command.subcommands().into_iter().rev();
        names.extend(below.map(|word| format!("{} {word}", command.name).trim().to_owned()));
        found.push(command);
    }
    found
}
