//! Inbox actions as command lines.

use adjutant_core::schedule::InboxAction;
use serde::ser::{Serialize, Serializer};

/// An action with the command that performs it. It serializes as the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedAction {
    pub action: InboxAction,
    /// The command line, without `adjutant`.
    pub command: String,
}

impl OfferedAction {
    /// Returns the action on the item of a task; a story's item needs no task.
    pub fn new(action: InboxAction, task: &str) -> Self {
        let command = command_line(&action, task);
        Self { action, command }
    }
}

impl Serialize for OfferedAction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.command)
    }
}

fn command_line(action: &InboxAction, task: &str) -> String {
    match action {
        InboxAction::Approve => format!("approve {task}"),
        InboxAction::ApproveWithNote => format!("approve {task} --note TEXT"),
        InboxAction::ApproveProtected { .. } => format!("approve {task} --allow-protected"),
        InboxAction::AcceptChecks { .. } => format!("trust {task}"),
        InboxAction::Reject => format!("reject {task} --reason TEXT"),
        InboxAction::Answer => format!("answer {task} TEXT"),
        InboxAction::Allow { request } => format!("answer {task} {request}:allow"),
        InboxAction::Deny { request } => format!("answer {task} {request}:deny"),
        InboxAction::Choose { request, choice } => format!("answer {task} {request}:{choice}"),
        InboxAction::Retry => format!("task retry {task}"),
        InboxAction::Cancel => format!("task cancel {task}"),
        InboxAction::Edit => format!("task edit {task}"),
        InboxAction::ShowDiff => format!("task diff {task}"),
        InboxAction::Explain => format!("why {task}"),
        InboxAction::ApplySalvage { name } => format!("inbox apply {task} {name}"),
        InboxAction::TestAgent { agent } => format!("agents test {agent}"),
        InboxAction::AllowHost { agent, host } => format!("agents allow {agent} {host}"),
        InboxAction::Diagnose => "doctor".to_owned(),
        InboxAction::AcceptConfig => "trust".to_owned(),
        InboxAction::ApproveStory { story } => format!("story approve --story {story}"),
        InboxAction::RejectStory { story } => format!("story reject REASON --story {story}"),
    }
}

#[cfg(test)]
mod tests {
    use adjutant_model::AgentId;
    use adjutant_model::story::StoryId;

    use super::*;

    #[test]
    fn inbox_action_is_offered_as_command_line() {
        let agent = AgentId::parse("swe").expect("a name");
        let story = StoryId::parse("US-005").expect("an id");
        let choice = "allow_always-1".to_owned();
        let lines = [
            (InboxAction::Approve, "approve T"),
            (InboxAction::ApproveWithNote, "approve T --note TEXT"),
            (InboxAction::ApproveProtected { files: vec![] }, "approve T --allow-protected"),
            (InboxAction::AcceptChecks { checks: None }, "trust T"),
            (InboxAction::Reject, "reject T --reason TEXT"),
            (InboxAction::Answer, "answer T TEXT"),
            (InboxAction::Allow { request: 1 }, "answer T 1:allow"),
            (InboxAction::Deny { request: 1 }, "answer T 1:deny"),
            (InboxAction::Choose { request: 1, choice }, "answer T 1:allow_always-1"),
            (InboxAction::Retry, "task retry T"),
            (InboxAction::Cancel, "task cancel T"),
            (InboxAction::Edit, "task edit T"),
            (InboxAction::ShowDiff, "task diff T"),
            (InboxAction::Explain, "why T"),
            (InboxAction::ApplySalvage { name: "x.json".to_owned() }, "inbox apply T x.json"),
            (InboxAction::TestAgent { agent: agent.clone() }, "agents test swe"),
            (
                InboxAction::AllowHost { agent, host: "a.example:443".into() },
                "agents allow swe a.example:443",
            ),
            (InboxAction::Diagnose, "doctor"),
            (InboxAction::AcceptConfig, "trust"),
            (InboxAction::ApproveStory { story: story.clone() }, "story approve --story US-005"),
            (InboxAction::RejectStory { story }, "story reject REASON --story US-005"),
        ];
        for (action, line) in lines {
            assert_eq!(OfferedAction::new(action, "T").command, line);
        }
    }
}
