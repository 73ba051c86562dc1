//! Permissions: what an agent's run asks for, the table that answers, and the question to a person.

use serde::{Deserialize, Serialize};

use crate::text_value::word_enum;
use crate::time::Time;

/// The most choices in a permission request.
pub const CHOICES_MAX: usize = 16;
/// The longest text of a permission request, in characters.
pub const TEXT_CHARS_MAX: usize = 10_000;
/// The longest id or name of a choice, in characters.
pub const CHOICE_CHARS_MAX: usize = 256;

/// A permission that a run waits for. It is stored in the front matter of the task, under
/// the key `metadata.permission`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PermissionRequest {
    /// The attempt number of the run.
    pub attempt: u32,
    /// The fence of the run.
    pub fence: u64,
    /// The number of the request in the run, from 1.
    pub number: u32,
    /// When the agent asked.
    pub since: Time,
    /// The action that the agent wants to perform.
    pub text: String,
    /// The possible answers.
    pub choices: Vec<PermissionChoice>,
}

/// A possible answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PermissionChoice {
    /// The id that the agent gave this choice.
    pub id: String,
    /// The label shown to people.
    pub name: String,
    pub kind: ChoiceKind,
}

word_enum! {
    /// What a choice allows or rejects.
    #[strum(serialize_all = "snake_case")]
    pub enum ChoiceKind {
        AllowOnce,
        /// Allowed now, and the agent need not ask again.
        AllowAlways,
        RejectOnce,
        /// Rejected now, and the agent need not ask again.
        RejectAlways,
    }
}

word_enum! {
    /// The kind of a tool, as the Agent Client Protocol defines them.
    #[strum(serialize_all = "snake_case")]
    pub enum ToolKind {
        Read,
        Edit,
        Delete,
        /// Moves or renames files.
        Move,
        Search,
        Execute,
        Think,
        /// Fetches data from another system.
        Fetch,
        /// Switches the agent to another mode.
        SwitchMode,
        Other,
    }
}

word_enum! {
    /// The answer to a permission request, from the mildest to the strictest.
    #[strum(serialize_all = "snake_case")]
    pub enum PermissionRuling {
        Allow,
        /// An operator must decide.
        Ask,
        Deny,
    }
}

/// What an agent asks permission for, as far as its request shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedAction {
    pub tool: ToolKind,
    /// The whole command; without one, the title that the agent gives the request.
    pub title: String,
    /// The command line that is to be run.
    pub command: Option<String>,
    /// The files that are to be read or changed; relative if they are in the workspace.
    pub paths: Vec<String>,
    /// The MCP server whose tool is to be called.
    pub server: Option<String>,
    /// Whether the request shows more than the agent's title.
    pub is_seen: bool,
}

impl Default for RequestedAction {
    fn default() -> Self {
        Self {
            tool: ToolKind::Other,
            title: String::new(),
            command: None,
            paths: vec![],
            server: None,
            is_seen: false,
        }
    }
}

/// The rules that answer permission requests. The first rule that matches decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionTable {
    pub rules: Vec<PermissionRule>,
    /// Applies if no rule matches.
    pub otherwise: PermissionRuling,
}

/// A rule for permission requests. In its patterns `*` matches any text; a pattern that is absent
/// matches every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRule {
    pub tool: Option<ToolKind>,
    /// For the whole command, or else the agent's title.
    pub title: Option<String>,
    /// For each command of a command line.
    pub command: Option<String>,
    /// For each file.
    pub path: Option<String>,
    /// For the MCP server whose tool is called.
    pub server: Option<String>,
    /// Whether a rule without a pattern allows requests that do not show what is asked.
    pub unseen: bool,
    pub ruling: PermissionRuling,
}

impl Default for PermissionRule {
    fn default() -> Self {
        Self {
            tool: None,
            title: None,
            command: None,
            path: None,
            server: None,
            unseen: false,
            ruling: PermissionRuling::Ask,
        }
    }
}

impl ChoiceKind {
    pub const fn allows(self) -> bool {
        match self {
            Self::AllowOnce | Self::AllowAlways => true,
            Self::RejectOnce | Self::RejectAlways => false,
        }
    }
}

/// Returns the choice that allows, or the one that rejects. Prefers "once" to "always".
pub fn choose(choices: &[PermissionChoice], allow: bool) -> Option<&PermissionChoice> {
    let fit = choices.iter().filter(|choice| choice.kind.allows() == allow);
    fit.min_by_key(|choice| choice.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_choice_prefers_once_to_always() {
        let choice =
            |kind: ChoiceKind| PermissionChoice { id: kind.to_string(), name: String::new(), kind };
        let all: Vec<PermissionChoice> =
            ChoiceKind::ALL.iter().rev().map(|kind| choice(*kind)).collect();
        assert_eq!(choose(&all, true).map(|choice| choice.kind), Some(ChoiceKind::AllowOnce));
        assert_eq!(choose(&all, false).map(|choice| choice.kind), Some(ChoiceKind::RejectOnce));
        assert_eq!(choose(&all[..2], true), None);
    }
}
