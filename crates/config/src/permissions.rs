//! `permissions` of an agent: how its permission requests are answered.

use adjutant_model::permission::{self, PermissionRule, PermissionRuling, PermissionTable};
use schemars::JsonSchema;
use serde::Deserialize;

use super::agent::{Agent, Kind};

/// A rule that answers permission requests; the first rule that matches applies.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Permission {
    /// The kind of tool that is asked for. Without it, any.
    #[serde(default)]
    pub tool: Option<Tool>,
    /// The command that is to be run, or else the title that the agent gives the request; `*` matches
    /// any text. Without it, any.
    #[serde(default)]
    pub title: Option<String>,
    /// A command of the command line that is to be run; every command of a line is matched. `*`
    /// matches any text.
    #[serde(default)]
    pub command: Option<String>,
    /// A file that is to be read or changed, relative to the workspace if it is in it; every file of
    /// a request is matched. `*` matches any text.
    #[serde(default)]
    pub path: Option<String>,
    /// The name of the MCP server whose tool is to be called; `*` matches any text.
    #[serde(default)]
    pub server: Option<String>,
    /// Whether the rule may allow a request that does not show what is asked, if it has no pattern.
    #[serde(default)]
    pub unseen: bool,
    /// The answer to a permission request.
    pub answer: PermissionAnswer,
}

/// The kind of a tool, as the Agent Client Protocol defines them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Reads files or data.
    Read,
    /// Changes the content of files.
    Edit,
    /// Removes files or data.
    Delete,
    /// Moves or renames files.
    Move,
    /// Searches for files or data.
    Search,
    /// Runs a command.
    Execute,
    /// Plans, without any effect.
    Think,
    /// Fetches data from elsewhere.
    Fetch,
    /// Changes the agent's mode of working.
    SwitchMode,
    /// Does something that no other kind describes.
    Other,
}

/// The answer to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PermissionAnswer {
    /// The agent may do it.
    Allow,
    /// The agent may not do it.
    Deny,
    /// The request goes to the inbox, and the run waits for the answer.
    Ask,
}

impl Agent {
    /// Returns the rules that answer permission requests. Without a matching rule, an agent with a
    /// known program is allowed everything, like the agents that never ask; for any other ACP agent
    /// the operator is asked.
    pub fn permission_table(&self) -> PermissionTable {
        let otherwise = match self.kind {
            Kind::Acp => PermissionRuling::Ask,
            Kind::Claude
            | Kind::Codex
            | Kind::Gemini
            | Kind::Opencode
            | Kind::Goose
            | Kind::Command
            | Kind::Script
            | Kind::Webhook => PermissionRuling::Allow,
        };
        PermissionTable {
            rules: self.permissions.iter().flatten().map(Permission::rule).collect(),
            otherwise,
        }
    }
}

impl Kind {
    /// Returns whether agents of this kind send permission requests.
    pub fn can_request_permission(self) -> bool {
        match self {
            Self::Gemini | Self::Opencode | Self::Acp => true,
            Self::Claude
            | Self::Codex
            | Self::Goose
            | Self::Command
            | Self::Script
            | Self::Webhook => false,
        }
    }
}

impl Permission {
    fn rule(&self) -> PermissionRule {
        let ruling = match self.answer {
            PermissionAnswer::Allow => PermissionRuling::Allow,
            PermissionAnswer::Deny => PermissionRuling::Deny,
            PermissionAnswer::Ask => PermissionRuling::Ask,
        };
        PermissionRule {
            tool: self.tool.map(Tool::to_core),
            title: self.title.clone(),
            command: self.command.clone(),
            path: self.path.clone(),
            server: self.server.clone(),
            unseen: self.unseen,
            ruling,
        }
    }
}

impl Tool {
    fn to_core(self) -> permission::ToolKind {
        match self {
            Self::Read => permission::ToolKind::Read,
            Self::Edit => permission::ToolKind::Edit,
            Self::Delete => permission::ToolKind::Delete,
            Self::Move => permission::ToolKind::Move,
            Self::Search => permission::ToolKind::Search,
            Self::Execute => permission::ToolKind::Execute,
            Self::Think => permission::ToolKind::Think,
            Self::Fetch => permission::ToolKind::Fetch,
            Self::SwitchMode => permission::ToolKind::SwitchMode,
            Self::Other => permission::ToolKind::Other,
        }
    }
}
