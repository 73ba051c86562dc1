//! `permissions` of an agent: what is answered when it wants to be allowed something.

use adjutant_core::permit::{self, Rule, Ruling, Table};
use schemars::JsonSchema;
use serde::Deserialize;

use super::agent::{Agent, Kind};

/// A rule: the first one that fits counts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Permission {
    /// The kind of tool it is for; all, if it does not say.
    #[serde(default)]
    pub tool: Option<Tool>,
    /// What it is for: the command where one is run, else what the agent calls it; `*` stands for
    /// anything. All, if it does not say.
    #[serde(default)]
    pub title: Option<String>,
    /// What is answered.
    pub answer: Answer,
}

/// What a tool does, as the Agent Client Protocol sorts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Reads files or data.
    Read,
    /// Changes files.
    Edit,
    /// Removes files or data.
    Delete,
    /// Moves or renames files.
    Move,
    /// Searches.
    Search,
    /// Runs a command.
    Execute,
    /// Thinks.
    Think,
    /// Fetches something from elsewhere.
    Fetch,
    /// Goes over to another way of working.
    SwitchMode,
    /// Anything else.
    Other,
}

/// What is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// It may.
    Allow,
    /// It may not.
    Deny,
    /// A person is asked: it is in the inbox, and the run waits.
    Ask,
}

impl Agent {
    /// Returns the table that answers for people. Where no rule fits, an agent whose program is
    /// known may what it asks for, as the others do without asking; for any other a person is asked.
    pub fn table(&self) -> Table {
        let otherwise = match self.kind {
            Kind::Acp => Ruling::Ask,
            Kind::Claude
            | Kind::Codex
            | Kind::Gemini
            | Kind::Opencode
            | Kind::Goose
            | Kind::Command
            | Kind::Script
            | Kind::Webhook => Ruling::Allow,
        };
        Table {
            rules: self.permissions.iter().flatten().map(Permission::rule).collect(),
            otherwise,
        }
    }
}

impl Kind {
    /// Says whether agents of this kind ask before they do something.
    pub fn asks(self) -> bool {
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
    fn rule(&self) -> Rule {
        let ruling = match self.answer {
            Answer::Allow => Ruling::Allow,
            Answer::Deny => Ruling::Deny,
            Answer::Ask => Ruling::Ask,
        };
        Rule { tool: self.tool.map(Tool::of_core), title: self.title.clone(), ruling }
    }
}

impl Tool {
    fn of_core(self) -> permit::ToolKind {
        match self {
            Self::Read => permit::ToolKind::Read,
            Self::Edit => permit::ToolKind::Edit,
            Self::Delete => permit::ToolKind::Delete,
            Self::Move => permit::ToolKind::Move,
            Self::Search => permit::ToolKind::Search,
            Self::Execute => permit::ToolKind::Execute,
            Self::Think => permit::ToolKind::Think,
            Self::Fetch => permit::ToolKind::Fetch,
            Self::SwitchMode => permit::ToolKind::SwitchMode,
            Self::Other => permit::ToolKind::Other,
        }
    }
}
