//! `adjutant story init`: prepares a project for stories.

use std::path::PathBuf;
use std::process::ExitCode;

use adjutant_stories::init::{InitError, install_in_claude, install_in_git, skeleton};
use serde_json::json;

use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean};

/// Create the files that stories need; existing files are not overwritten
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant story init
  adjutant story init --claude --git  also install the hooks")]
pub(crate) struct StoryInitArgs {
    /// The project's folder [default: the working directory]
    #[arg(long, value_name = "DIR")]
    pub(super) project: Option<PathBuf>,
    /// Call `story hook` when Claude Code stops: adds a hook to the project's settings
    #[arg(long)]
    claude: bool,
    /// Call `story hook` after a commit: adds a hook to the git repository
    #[arg(long)]
    git: bool,
}

impl StoryInitArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let root = self.project.unwrap_or_else(|| PathBuf::from("."));
        std::fs::create_dir_all(&root).map_err(|error| {
            CommandFailure::broken(format!("cannot create {}", root.display()), &error)
        })?;
        let mut made = skeleton(&root).map_err(failure)?;
        if self.claude {
            install_in_claude(&root, &mut made).map_err(failure)?;
        }
        if self.git {
            install_in_git(&root, &mut made).map_err(failure)?;
        }
        if out.is_json() {
            let next = "Call `adjutant story start ID` to start a story.";
            out.document(&json!({
                "result": "made", "made": made.made, "kept": made.kept, "story": null,
                "step": null, "attempt": null, "max_attempts": null, "status": null,
                "reason": null, "next_step": null, "caller_instruction": next,
            }))?;
            return Ok(ExitCode::SUCCESS);
        }
        for name in &made.made {
            out.line(&format!("created {}", clean(name)))?;
        }
        for name in &made.kept {
            out.line(&format!("kept {}", clean(name)))?;
        }
        out.line("next: `adjutant story start ID`")?;
        Ok(ExitCode::SUCCESS)
    }
}

fn failure(error: InitError) -> CommandFailure {
    match error {
        InitError::Folder(error) => CommandFailure::broken("cannot set up the project", &error),
        InitError::Settings { .. } | InitError::Git { .. } => CommandFailure::story_refused(
            "hook_not_installed",
            "cannot install the hook",
            error.to_string(),
        ),
    }
}
