//! Lists every command of the binary by walking through its help.

use super::project::GoldenProject;

pub(super) struct CommandHelp {
    /// The words after `adjutant`, such as `task add`; empty for the program itself.
    pub(super) name: String,
    pub(super) long: String,
}

impl CommandHelp {
    /// Returns false for a command that only groups subcommands.
    pub(super) fn is_runnable(&self) -> bool {
        !self.usage().contains("<COMMAND>")
    }

    fn usage(&self) -> &str {
        self.long.lines().find(|line| line.starts_with("Usage: ")).expect("a usage line")
    }

    fn subcommands(&self) -> Vec<String> {
        let listed = self.long.split("Commands:\n").nth(1).unwrap_or_default();
        let listed = listed.split("\n\n").next().unwrap_or_default();
        // A description may continue on the next line, with a deeper indent.
        let first = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
        let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
        listed.lines().filter(first).filter_map(name).collect()
    }
}

/// Returns all commands; the program itself comes first.
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
