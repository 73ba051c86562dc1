//! How the permission requests of an agent are answered: by the rules of its configuration, as far as
//! a request shows what is asked.
//!
//! A request counts for what it does, not for the title that the agent gives it. Where it names
//! several commands or files, each is judged, and the strictest ruling counts.

mod command_line;

use adjutant_model::permission::{
    PermissionRule, PermissionRuling, PermissionTable, RequestedAction, ToolKind,
};

use command_line::split_commands;

/// The name of Adjutant's MCP server, as every agent is told it.
pub const OWN_SERVER: &str = "adjutant";

/// One command and one file of a request; a rule is matched with such a pair.
#[derive(Clone, Copy)]
struct ActionPart<'a> {
    command: CommandPart<'a>,
    path: Option<&'a str>,
}

#[derive(Clone, Copy)]
enum CommandPart<'a> {
    None,
    /// The forms of one command; a pattern may match any of them.
    Known(&'a [String]),
    /// A command line whose commands cannot be told apart.
    Unsplittable,
}

/// Returns the ruling for a request of several actions: the strictest.
pub fn judge_all(table: &PermissionTable, actions: &[RequestedAction]) -> PermissionRuling {
    let rulings = actions.iter().map(|action| judge(table, action));
    rulings.max().unwrap_or(PermissionRuling::Ask)
}

/// Returns the ruling for one action.
fn judge(table: &PermissionTable, action: &RequestedAction) -> PermissionRuling {
    let split = action.command.as_deref().map(split_commands);
    let commands: Vec<CommandPart<'_>> = match &split {
        None => vec![CommandPart::None],
        Some(None) => vec![CommandPart::Unsplittable],
        Some(Some(commands)) => commands.iter().map(|forms| CommandPart::Known(forms)).collect(),
    };
    let paths: Vec<Option<&str>> = match &action.paths[..] {
        [] => vec![None],
        paths => paths.iter().map(|path| Some(path.as_str())).collect(),
    };
    let parts = commands
        .iter()
        .flat_map(|command| paths.iter().map(|path| ActionPart { command: *command, path: *path }));
    parts.map(|part| judge_part(table, action, part)).max().unwrap_or(PermissionRuling::Ask)
}

/// Returns true for a call of a tool of Adjutant's own MCP server, whose rights the run's token
/// limits. A request that runs a command or names a file is none.
pub fn is_own_tool(action: &RequestedAction) -> bool {
    let harmless = match action.tool {
        ToolKind::Other | ToolKind::Think | ToolKind::Read => true,
        ToolKind::Edit
        | ToolKind::Delete
        | ToolKind::Move
        | ToolKind::Search
        | ToolKind::Execute
        | ToolKind::Fetch
        | ToolKind::SwitchMode => false,
    };
    let is_ours = action.server.as_deref() == Some(OWN_SERVER);
    harmless && is_ours && action.command.is_none() && action.paths.is_empty()
}

fn judge_part(
    table: &PermissionTable,
    action: &RequestedAction,
    part: ActionPart<'_>,
) -> PermissionRuling {
    for rule in &table.rules {
        match fits(rule, action, part) {
            RuleMatch::No => {}
            RuleMatch::Unknown => return PermissionRuling::Ask,
            RuleMatch::Yes => return rule.ruling,
        }
    }
    match table.otherwise {
        PermissionRuling::Allow if !action.is_seen => PermissionRuling::Ask,
        otherwise => otherwise,
    }
}

enum RuleMatch {
    Yes,
    No,
    /// The rule has a pattern for commands, and the commands cannot be told apart.
    Unknown,
}

fn fits(rule: &PermissionRule, action: &RequestedAction, part: ActionPart<'_>) -> RuleMatch {
    let is_allowing = rule.ruling == PermissionRuling::Allow;
    if !fits_outline(rule, action) || !fits_path(rule, part) {
        return RuleMatch::No;
    }
    // A catch-all says nothing about what it cannot see.
    if is_allowing && !action.is_seen && !rule.unseen && is_catch_all(rule) {
        return RuleMatch::No;
    }
    match (&rule.command, part.command) {
        // The files that a command names are not all that it can reach.
        (None, CommandPart::Known(_) | CommandPart::Unsplittable)
            if is_allowing && rule.path.is_some() =>
        {
            RuleMatch::No
        }
        (None, _) => RuleMatch::Yes,
        (Some(_), CommandPart::None) => RuleMatch::No,
        (Some(_), CommandPart::Unsplittable) => RuleMatch::Unknown,
        (Some(pattern), CommandPart::Known(forms)) => {
            let is_match = forms.iter().any(|form| matches(pattern, form));
            if is_match { RuleMatch::Yes } else { RuleMatch::No }
        }
    }
}

fn fits_outline(rule: &PermissionRule, action: &RequestedAction) -> bool {
    let tool = rule.tool.is_none_or(|own| own == action.tool);
    let title = rule.title.as_deref().is_none_or(|pattern| matches(pattern, &action.title));
    let server = rule.server.as_deref().is_none_or(|pattern| {
        action.server.as_deref().is_some_and(|server| matches(pattern, server))
    });
    tool && title && server
}

fn fits_path(rule: &PermissionRule, part: ActionPart<'_>) -> bool {
    rule.path.as_deref().is_none_or(|pattern| part.path.is_some_and(|path| matches(pattern, path)))
}

/// Returns true for a rule that looks at nothing a request contains.
fn is_catch_all(rule: &PermissionRule) -> bool {
    let any = |pattern: &Option<String>| {
        pattern.as_deref().is_none_or(|pattern| pattern.chars().all(|sign| sign == '*'))
    };
    any(&rule.title) && any(&rule.command) && any(&rule.path) && any(&rule.server)
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
    use PermissionRuling::{Allow, Ask, Deny};

    use super::*;

    fn rule(ruling: PermissionRuling) -> PermissionRule {
        PermissionRule { ruling, ..PermissionRule::default() }
    }

    fn command(pattern: &str, ruling: PermissionRuling) -> PermissionRule {
        PermissionRule { command: Some(pattern.into()), ..rule(ruling) }
    }

    fn path(pattern: &str, ruling: PermissionRuling) -> PermissionRule {
        PermissionRule { path: Some(pattern.into()), ..rule(ruling) }
    }

    fn run(line: &str) -> RequestedAction {
        RequestedAction {
            tool: ToolKind::Execute,
            title: line.into(),
            command: Some(line.into()),
            is_seen: true,
            ..RequestedAction::default()
        }
    }

    fn edit(paths: &[&str]) -> RequestedAction {
        RequestedAction {
            tool: ToolKind::Edit,
            title: "Create file".into(),
            paths: paths.iter().map(|path| (*path).into()).collect(),
            is_seen: true,
            ..RequestedAction::default()
        }
    }

    fn ruling(rules: &[PermissionRule], action: &RequestedAction) -> PermissionRuling {
        judge(&PermissionTable { rules: rules.to_vec(), otherwise: Ask }, action)
    }

    #[test]
    fn permission_rule_for_command_matches_each_command_of_a_line() {
        let rules = [command("git push*", Deny), command("git *", Allow), command("cd *", Allow)];
        for (line, expected) in [
            ("git status", Allow),
            ("git push", Deny),
            ("cd x && git push", Deny),
            ("cd x; git status | git push -f", Deny),
            ("cd x && git status", Allow),
            ("cd x && make", Ask),
            ("git status\ngit push", Deny),
            ("git 'push'", Deny),
            ("GIT_DIR=x git push", Deny),
            ("sudo git push", Deny),
            ("bash -lc 'cd x && git push'", Deny),
            ("git log $(git push)", Ask),
            ("git log `git push`", Ask),
            ("git log 'unbalanced", Ask),
        ] {
            assert_eq!(ruling(&rules, &run(line)), expected, "{line}");
        }
    }

    #[test]
    fn permission_rule_for_path_matches_each_file() {
        let rules = [path("*.env", Deny), path("src/*", Allow)];
        assert_eq!(ruling(&rules, &edit(&["src/a.rs"])), Allow);
        assert_eq!(ruling(&rules, &edit(&["src/a.rs", "src/.env"])), Deny);
        assert_eq!(ruling(&rules, &edit(&["src/a.rs", "doc/a.md"])), Ask);
        let writes = RequestedAction { paths: vec!["src/a.rs".into()], ..run("rm -r /") };
        assert_eq!(
            ruling(&rules, &writes),
            Ask,
            "a command is not allowed for a file that it names"
        );
        let reads = RequestedAction { paths: vec![".env".into()], ..run("cat .env") };
        assert_eq!(ruling(&rules, &reads), Deny);
    }

    #[test]
    fn permission_catch_all_does_not_allow_what_cannot_be_seen() {
        let unseen = RequestedAction {
            title: "Confirm Agent Actions".into(),
            is_seen: false,
            ..RequestedAction::default()
        };
        let seen = RequestedAction { is_seen: true, ..unseen.clone() };
        let star = PermissionRule { title: Some("*".into()), ..rule(Allow) };
        for catch_all in [rule(Allow), star] {
            let only = std::slice::from_ref(&catch_all);
            assert_eq!((ruling(only, &unseen), ruling(only, &seen)), (Ask, Allow));
            let with_unseen = PermissionRule { unseen: true, ..catch_all };
            assert_eq!(ruling(&[with_unseen], &unseen), Allow);
        }
        let named = PermissionRule { title: Some("Confirm*".into()), ..rule(Allow) };
        assert_eq!(ruling(&[named], &unseen), Allow);
        assert_eq!(ruling(&[rule(Deny)], &unseen), Deny);
        let table = PermissionTable { rules: vec![], otherwise: Allow };
        assert_eq!((judge(&table, &unseen), judge(&table, &seen)), (Ask, Allow));
    }

    #[test]
    fn permission_rule_for_title_matches_whole_command_as_before() {
        let tool = |tool, title: Option<&str>, ruling| PermissionRule {
            tool,
            title: title.map(str::to_owned),
            ..rule(ruling)
        };
        let rules = [
            tool(Some(ToolKind::Execute), Some("git push*"), Deny),
            tool(Some(ToolKind::Execute), None, Ask),
            tool(None, Some("*secret*"), Deny),
            tool(None, None, Allow),
        ];
        assert_eq!(ruling(&rules, &run("git push origin")), Deny);
        assert_eq!(ruling(&rules, &run("cat secret")), Ask);
        let read = |title: &str| RequestedAction {
            tool: ToolKind::Read,
            title: title.into(),
            is_seen: true,
            ..RequestedAction::default()
        };
        assert_eq!(ruling(&rules, &read("Read secret.txt")), Deny);
        assert_eq!(ruling(&rules, &read("git push")), Allow);
        assert_eq!(ruling(&[], &read("")), Ask);
    }

    #[test]
    fn permission_rule_for_server_matches_calls_of_its_tools() {
        let rules = [PermissionRule { server: Some("jira".into()), ..rule(Allow) }];
        let call = |server: Option<&str>| RequestedAction {
            server: server.map(str::to_owned),
            is_seen: true,
            ..RequestedAction::default()
        };
        assert_eq!(ruling(&rules, &call(Some("jira"))), Allow);
        assert_eq!(ruling(&rules, &call(Some("other"))), Ask);
        assert_eq!(ruling(&rules, &call(None)), Ask);
    }

    #[test]
    fn own_tool_runs_no_command_and_names_no_file() {
        let own = RequestedAction {
            server: Some(OWN_SERVER.into()),
            is_seen: true,
            ..RequestedAction::default()
        };
        assert!(is_own_tool(&own));
        assert!(!is_own_tool(&RequestedAction { tool: ToolKind::Execute, ..own.clone() }));
        assert!(!is_own_tool(&RequestedAction { command: Some("ls".into()), ..own.clone() }));
        assert!(!is_own_tool(&RequestedAction { paths: vec!["x".into()], ..own.clone() }));
        assert!(!is_own_tool(&RequestedAction { server: Some("other".into()), ..own }));
    }

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
}
