//! `adjutant story init`: makes a project ready for stories.

use std::path::PathBuf;
use std::process::ExitCode;

use adjutant_runtime::story::init::{InitError, install_in_claude, install_in_git, skeleton};
use serde_json::json;

use crate::error::Failure;
use crate::output::{Output, clean};

/// Make a project ready for stories; nothing that is there is overwritten
#[derive(Debug, clap::Args)]
pub(crate) struct Init {
    /// The project [default: the working directory]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Have Claude Code tell when an executor has stopped: adds to the project's settings
    #[arg(long)]
    claude: bool,
    /// Have git look after a commit: adds to the repository's hooks
    #[arg(long)]
    git: bool,
}

impl Init {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        super::persons_only("cannot make the project ready")?;
        let root = self.project.unwrap_or_else(|| PathBuf::from("."));
        std::fs::create_dir_all(&root)
            .map_err(|error| Failure::broken(format!("cannot make {}", root.display()), &error))?;
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
            out.line(&format!("made {}", clean(name)))?;
        }
        for name in &made.kept {
            out.line(&format!("kept {}", clean(name)))?;
        }
        out.line("`adjutant story start ID` starts a story")?;
        Ok(ExitCode::SUCCESS)
    }
}

fn failure(error: InitError) -> Failure {
    match error {
        InitError::Folder(error) => Failure::broken("cannot make the project ready", &error),
        InitError::Settings { .. } | InitError::Git { .. } => Failure::story_refused(
            "hook_not_installed",
            "cannot install the hook",
            error.to_string(),
        ),
    }
}
