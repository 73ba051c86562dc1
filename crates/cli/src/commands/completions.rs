//! `adjutant completions`: prints the completion script of a shell.

use std::process::ExitCode;

use clap::{Command, CommandFactory, ValueHint};
use clap_complete::Shell;

use crate::commands::args::Args;
use crate::commands::candidates::{ValueKind, value_kind};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Print the completion script of a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
In bash, zsh and fish, task ids and agent names are completed too.

Examples:
  adjutant completions bash > ~/.local/share/bash-completion/completions/adjutant
  adjutant completions zsh > ~/.zfunc/_adjutant
  adjutant completions fish > ~/.config/fish/completions/adjutant.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell that the script is for
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        out.text("script", script(self.shell).trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}

fn script(shell: Shell) -> String {
    let generate = |mut command: Command| {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command, "adjutant", &mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    match shell {
        Shell::Bash => complete_values_in_bash(&generate(Args::command())),
        Shell::Fish => generate(Args::command()) + FISH_VALUES,
        Shell::Zsh => complete_values_in_zsh(&generate(with_zsh_hints(Args::command(), &[]))),
        _ => generate(Args::command()),
    }
}

/// Calls `adjutant candidates` after clap's function. Its values replace the options, because the
/// word that is completed is not an option.
const BASH_VALUES: &str = r#"_adjutant_values() {
    _adjutant "$@"
    local line values=()
    while IFS= read -r line; do
        values+=("${line%%$'\t'*}")
    done < <("$1" candidates -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ "${#values[@]}" -gt 0 ]]; then
        COMPREPLY=("${values[@]}")
    fi
}

"#;

fn complete_values_in_bash(script: &str) -> String {
    let script = script.replace("complete -F _adjutant -o", "complete -F _adjutant_values -o");
    let (functions, registration) = script.rsplit_once("\nif [[").unwrap_or((&script, ""));
    format!("{functions}\n{BASH_VALUES}if [[{registration}")
}

const FISH_VALUES: &str = r#"
function __adjutant_values
    set -l words (commandline -opc) (commandline -ct)
    adjutant candidates -- $words[2..] 2>/dev/null
end
complete -c adjutant -a "(__adjutant_values)"
"#;

const ZSH_VALUES: &str = r#"_adjutant_candidates() {
    local -a values
    values=(${(f)"$(adjutant candidates -- "$@" "$PREFIX" 2>/dev/null)"})
    values=("${(@)values//:/\\:}")
    values=("${(@)values/$'\t'/:}")
    _describe 'value' values
}
_adjutant_tasks() {
    _adjutant_candidates task show
}
_adjutant_agents() {
    _adjutant_candidates task list --agent
}

"#;

/// Marks the arguments whose values are completed by hints that no argument has, because the
/// generator for zsh writes a function for each.
fn with_zsh_hints(command: Command, path: &[String]) -> Command {
    let command = command.mut_args(|arg| match value_kind(path, &arg) {
        Some(ValueKind::Task | ValueKind::TaskOrStatus) => arg.value_hint(ValueHint::EmailAddress),
        Some(ValueKind::Agent) => arg.value_hint(ValueHint::Hostname),
        None => arg,
    });
    command.mut_subcommands(|inner| {
        let path: Vec<String> = path.iter().cloned().chain([inner.get_name().to_owned()]).collect();
        with_zsh_hints(inner, &path)
    })
}

fn complete_values_in_zsh(script: &str) -> String {
    let script = script.replace(":_email_addresses'", ":_adjutant_tasks'");
    let script = script.replace(":_hosts'", ":_adjutant_agents'");
    let start = "if [ \"$funcstack[1]\" = \"_adjutant\" ]; then";
    script.replacen(start, &format!("{ZSH_VALUES}{start}"), 1)
}
