//! What the files of a project's stories would run, and the operator has not accepted.

use std::path::Path;

use adjutant_model::command_text::exact_command;
use adjutant_model::story::StoryId;
use adjutant_process::clock::SystemClock;
use adjutant_stories::StoryProject;

/// The commands of step rules and the automatic stories that wait for acceptance.
pub struct UnacceptedStories {
    pub project: StoryProject<'static>,
    pub commands: Vec<String>,
    pub stories: Vec<StoryId>,
}

impl UnacceptedStories {
    /// Reads the files of a project; `None` if nothing waits. Files that cannot be read run nothing,
    /// and the commands for stories say what is wrong with them.
    pub fn find(root: &Path) -> Option<Self> {
        if !root.join(".ai").is_dir() {
            return None;
        }
        let project = StoryProject::at(root, &SystemClock).ok()?;
        let commands = project.trust().unaccepted_commands(project.rules());
        let stories = project.unaccepted_stories().ok()?;
        let is_pending = !commands.is_empty() || !stories.is_empty();
        is_pending.then_some(Self { project, commands, stories })
    }

    /// Says what would be run, in one line.
    pub fn in_words(&self) -> String {
        let command =
            |line: &String| format!("command of the step rules: `{}`", exact_command(line));
        let story = |story: &StoryId| format!("{story} is automatic");
        let commands = self.commands.iter().map(command);
        commands.chain(self.stories.iter().map(story)).collect::<Vec<_>>().join("; ")
    }
}
