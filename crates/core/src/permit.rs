//! What an agent wants to be allowed: the table that answers for people, and the question that is
//! put to one.

use std::fmt;

use crate::time::Time;

/// The most choices a question has.
pub const CHOICES_MAX: usize = 16;
/// The longest text of a question, in characters.
pub const TEXT_CHARS_MAX: usize = 2_000;
/// The longest id or name of a choice, in characters.
pub const CHOICE_CHARS_MAX: usize = 256;

/// Something an agent waits for while its run goes on, kept in the front matter of its task under
/// `metadata.permission`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permit {
    /// The number of the run.
    pub attempt: u32,
    /// Its fence.
    pub fence: u64,
    /// The number of the question in the run, from 1.
    pub number: u32,
    /// When it was asked.
    pub since: Time,
    /// What it wants to do.
    pub text: String,
    /// What may be answered.
    pub choices: Vec<Choice>,
}

/// One thing that may be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What the agent knows it by.
    pub id: String,
    /// What people are shown.
    pub name: String,
    /// What it comes to.
    pub kind: ChoiceKind,
}

macro_rules! words {
    ($(#[doc = $about:literal])+ $type:ident { $($(#[doc = $doc:literal])+ $name:ident = $word:literal,)+ }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $type { $($(#[doc = $doc])+ $name,)+ }

        impl $type {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the word for it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }

            /// Parses the word for it.
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == word)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// What a choice comes to.
    ChoiceKind {
        /// Allowed, this time.
        AllowOnce = "allow_once",
        /// Allowed, and not asked again.
        AllowAlways = "allow_always",
        /// Not allowed, this time.
        RejectOnce = "reject_once",
        /// Not allowed, and not asked again.
        RejectAlways = "reject_always",
    }
}

words! {
    /// What a tool does, as the Agent Client Protocol sorts them.
    ToolKind {
        /// Reads files or data.
        Read = "read",
        /// Changes files.
        Edit = "edit",
        /// Removes files or data.
        Delete = "delete",
        /// Moves or renames files.
        Move = "move",
        /// Searches.
        Search = "search",
        /// Runs a command.
        Execute = "execute",
        /// Thinks.
        Think = "think",
        /// Fetches something from elsewhere.
        Fetch = "fetch",
        /// Goes over to another way of working.
        SwitchMode = "switch_mode",
        /// Anything else.
        Other = "other",
    }
}

words! {
    /// What the table says.
    Ruling {
        /// It may.
        Allow = "allow",
        /// It may not.
        Deny = "deny",
        /// A person is asked.
        Ask = "ask",
    }
}

/// The table that answers for people: the first rule that fits counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The rules, in order.
    pub rules: Vec<Rule>,
    /// What is said where none fits.
    pub otherwise: Ruling,
}

/// A rule: what it fits, and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The kind of tool it is for; none for all.
    pub tool: Option<ToolKind>,
    /// What the agent says it wants to do, where `*` stands for anything; none for all.
    pub title: Option<String>,
    /// What it says.
    pub ruling: Ruling,
}

impl Table {
    /// Says what to answer to a tool of a kind that says it wants to do something.
    pub fn judge(&self, tool: ToolKind, title: &str) -> Ruling {
        let found = self.rules.iter().find(|rule| rule.fits(tool, title));
        found.map_or(self.otherwise, |rule| rule.ruling)
    }
}

impl Rule {
    fn fits(&self, tool: ToolKind, title: &str) -> bool {
        let kind = self.tool.is_none_or(|own| own == tool);
        kind && self.title.as_deref().is_none_or(|pattern| matches(pattern, title))
    }
}

impl ChoiceKind {
    /// Says whether it allows what was asked for.
    pub const fn allows(self) -> bool {
        match self {
            Self::AllowOnce | Self::AllowAlways => true,
            Self::RejectOnce | Self::RejectAlways => false,
        }
    }
}

/// Returns the choice that allows, or the one that does not; the narrower one if there are both.
pub fn choose(choices: &[Choice], allow: bool) -> Option<&Choice> {
    let fit = choices.iter().filter(|choice| choice.kind.allows() == allow);
    fit.min_by_key(|choice| choice.kind)
}

/// Says whether a text is as a pattern has it, the whole of it; `*` stands for anything.
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
        // The first place is the best: it leaves most for what comes after.
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
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
    fn the_first_rule_that_fits_counts() {
        let rule = |tool, title: Option<&str>, ruling| Rule {
            tool,
            title: title.map(str::to_owned),
            ruling,
        };
        let table = Table {
            rules: vec![
                rule(Some(ToolKind::Execute), Some("git push*"), Ruling::Deny),
                rule(Some(ToolKind::Execute), None, Ruling::Ask),
                rule(None, Some("*secret*"), Ruling::Deny),
                rule(None, None, Ruling::Allow),
            ],
            otherwise: Ruling::Ask,
        };
        assert_eq!(table.judge(ToolKind::Execute, "git push origin"), Ruling::Deny);
        assert_eq!(table.judge(ToolKind::Execute, "cat secret"), Ruling::Ask);
        assert_eq!(table.judge(ToolKind::Read, "Read secret.txt"), Ruling::Deny);
        assert_eq!(table.judge(ToolKind::Edit, "git push"), Ruling::Allow);
        let none = Table { rules: vec![], otherwise: Ruling::Ask };
        assert_eq!(none.judge(ToolKind::Other, ""), Ruling::Ask);
    }

    #[test]
    fn the_narrower_choice_is_taken() {
        let choice = |kind: ChoiceKind| Choice { id: kind.to_string(), name: String::new(), kind };
        let all: Vec<Choice> = ChoiceKind::ALL.iter().rev().map(|kind| choice(*kind)).collect();
        assert_eq!(choose(&all, true).map(|choice| choice.kind), Some(ChoiceKind::AllowOnce));
        assert_eq!(choose(&all, false).map(|choice| choice.kind), Some(ChoiceKind::RejectOnce));
        assert_eq!(choose(&all[..2], true), None);
    }
}
