//! `adjutant inbox`: shows everything that waits for a person.

use std::process::ExitCode;

use adjutant_core::schedule::AttentionKind;
use adjutant_model::Command;
use adjutant_query::inbox::{InboxExtras, InboxItem, InboxKind};

use super::task::submit_and_show;
use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour, clean};

/// Show everything that needs you: reviews, questions, failed tasks and late reports
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant inbox         show each entry with the commands that answer it
  adjutant inbox --json")]
pub(crate) struct InboxArgs {
    #[command(subcommand)]
    what: Option<InboxCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum InboxCommand {
    Apply(InboxApplyArgs),
}

/// Apply a report that arrived too late to count
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant inbox apply 042 2-message.json")]
struct InboxApplyArgs {
    /// The id of the task
    id: String,
    /// The file name of the report, as the inbox shows it
    name: String,
}

impl InboxArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        match self.what {
            Some(InboxCommand::Apply(apply)) => apply.run(data, out),
            None => show(data, out),
        }
    }
}

impl InboxApplyArgs {
    fn run(self, data: &ProjectData, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let id = data.task_id(&self.id)?;
        let attempt = format!("cannot apply {} to {id}", self.name);
        submit_and_show(
            data,
            out,
            &attempt,
            Command::ApplySalvage { id, name: self.name, text: None },
        )
    }
}

fn show(data: &ProjectData, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
    let world = data.load_world(out)?;
    let find = |text: &str| data.resolve_task_id(text);
    let warn = |text: &str| out.warn(text);
    let extras = InboxExtras::read(&data.folder, data.late_reports()?, &find, &warn);
    let items = extras.items(&world);
    if out.is_json() {
        out.document(&items)?;
        return Ok(ExitCode::SUCCESS);
    }
    if items.is_empty() {
        out.line("the inbox is empty")?;
    }
    items.iter().try_for_each(|item| print(item, out))?;
    Ok(ExitCode::SUCCESS)
}

fn print(item: &InboxItem, out: &CommandOutput) -> Result<(), CommandFailure> {
    let kind = out.paint(colour(item.kind), item.kind.as_str());
    // A story whose task is not in the inbox has one line.
    let (text, details) = match (&item.story, item.kind) {
        (Some(story), InboxKind::Story) => (&story.text, vec![]),
        (
            Some(story),
            InboxKind::Task(_) | InboxKind::Config | InboxKind::StoryConfig | InboxKind::LostFile,
        ) => (&item.text, story.details()),
        (None, _) => (&item.text, vec![]),
    };
    let id = item.task_id.as_deref().map_or_else(String::new, |id| format!("{id} "));
    out.line(&format!("{id}{kind}  {}", clean(text)))?;
    for line in details {
        out.line(&out.paint(TextColour::Dim, &format!("    {}", clean(&line))))?;
    }
    for action in &item.actions {
        out.line(&out.paint(TextColour::Dim, &format!("    adjutant {}", action.command)))?;
    }
    Ok(())
}

fn colour(kind: InboxKind) -> TextColour {
    let kind = match kind {
        InboxKind::Task(kind) => kind,
        InboxKind::Story => return TextColour::Blue,
        InboxKind::Config | InboxKind::StoryConfig => return TextColour::Red,
        InboxKind::LostFile => return TextColour::Yellow,
    };
    match kind {
        AttentionKind::Review => TextColour::Blue,
        AttentionKind::Question
        | AttentionKind::Merge
        | AttentionKind::Permission
        | AttentionKind::Checks
        | AttentionKind::Blocked
        | AttentionKind::HeldBack
        | AttentionKind::Unusable
        | AttentionKind::Budget
        | AttentionKind::Network
        | AttentionKind::Salvage => TextColour::Yellow,
        AttentionKind::Deadletter | AttentionKind::Unreadable | AttentionKind::OnHold => {
            TextColour::Red
        }
    }
}
