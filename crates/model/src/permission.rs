//! Permissions: what an agent's run asks for, the table that answers, and the question to a person.

use serde::{Deserialize, Serialize};

use crate::text_value::word_enum;
use crate::time::Time;

/// The most choices in a permission request.
pub const CHOICES_MAX: usize = 16;
/// The longest text of a permission request, in characters.
pub const TEXT_CHARS_MAX: usize = 2_000;
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
    #[strum(serialize_all = "snake_case")]
    pub enum PermissionRuling {
        Allow,
        Deny,
        /// An operator must decide.
        Ask,
    }
}

/// The rules that answer permission requests. The first rule that matches decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionTable {
    pub rules: Vec<PermissionRule>,
    /// Applies if no rule matches.
    pub otherwise: PermissionRuling,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRule {
    /// `None` matches every kind of tool.
    pub tool: Option<ToolKind>,
    /// A pattern for the action as the agent describes it; `*` matches any text. `None`
    /// matches every action.
    pub title: Option<String>,
    pub ruling: PermissionRuling,
}

impl PermissionTable {
    /// Returns the ruling for an action of a tool.
    pub fn judge(&self, tool: ToolKind, title: &str) -> PermissionRuling {
        let found = self.rules.iter().find(|rule| rule.fits(tool, title));
        found.map_or(self.otherwise, |rule| rule.ruling)
    }
}

impl PermissionRule {
    fn fits(&self, tool: ToolKind, title: &str) -> bool {
        let kind = self.tool.is_none_or(|own| own == tool);
        kind && self.title.as_deref().is_none_or(|pattern| matches(pattern, title))
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

/// Returns whether a pattern matches the whole text; `*` matches any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        // The first match is the best one: it leaves the most text for the parts that follow.
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_pattern_star_matches_any_text() {
        for (pattern, text) in
            [("*", ""), ("*", "a"), ("git *", "git push"), ("*.env*", "cat .env"), ("a*a", "aba")]
        {
            assert!(matches(pattern, text), "{pattern:?} fits {text:?}");
        }
        for (pattern, text) in
            [("", "a"), ("git", "git push"), ("git *", "gitk"), ("a*a", "a"), ("*x*y", "yx")]
        {
            assert!(!matches(pattern, text), "{pattern:?} does not fit {text:?}");
        }
    }

    #[test]
    fn permission_table_first_matching_rule_decides() {
        let rule = |tool, title: Option<&str>, ruling| PermissionRule {
            tool,
            title: title.map(str::to_owned),
            ruling,
        };
        let table = PermissionTable {
            rules: vec![
                rule(Some(ToolKind::Execute), Some("git push*"), PermissionRuling::Deny),
                rule(Some(ToolKind::Execute), None, PermissionRuling::Ask),
                rule(None, Some("*secret*"), PermissionRuling::Deny),
                rule(None, None, PermissionRuling::Allow),
            ],
            otherwise: PermissionRuling::Ask,
        };
        assert_eq!(table.judge(ToolKind::Execute, "git push origin"), PermissionRuling::Deny);
        assert_eq!(table.judge(ToolKind::Execute, "cat secret"), PermissionRuling::Ask);
        assert_eq!(table.judge(ToolKind::Read, "Read secret.txt"), PermissionRuling::Deny);
        assert_eq!(table.judge(ToolKind::Edit, "git push"), PermissionRuling::Allow);
        let none = PermissionTable { rules: vec![], otherwise: PermissionRuling::Ask };
        assert_eq!(none.judge(ToolKind::Other, ""), PermissionRuling::Ask);
    }

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
