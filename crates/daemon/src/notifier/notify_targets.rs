//! The targets of notices: console, desktop, command and webhook. Does not decide about retries.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::time::Duration;

use adjutant_config::{self as config, Config, Notify};
use adjutant_process::test_runner::limited_command::{CommandLimits, CommandResult};

use super::notice_message::{NoticeMessage, to_plain_line};
use super::{desktop, webhook};

/// The most characters of a program's output that go into an error.
const OUTPUT_CHARS_MAX: usize = 200;

#[derive(Debug)]
pub(super) enum SendResult {
    Accepted,
    /// The target may accept it later; `after` is the delay that the target asks for, if it does.
    Later {
        why: String,
        after: Option<Duration>,
    },
    /// The target will never accept it, for this reason.
    Rejected(String),
}

impl SendResult {
    pub(super) fn later(why: String) -> Self {
        Self::Later { why, after: None }
    }
}

/// A message to show on the console.
pub struct ConsoleMessage {
    pub letter: NoticeMessage,
    shown: SyncSender<()>,
}

impl ConsoleMessage {
    /// Confirms that the message was shown.
    pub fn confirm(self) {
        // The sender may have stopped waiting.
        let _ = self.shown.send(());
    }
}

/// The configured targets of a data folder.
#[derive(Debug, Clone)]
pub struct NotifyTargets {
    config: Config,
    root: PathBuf,
    /// The project folder, in which programs run.
    home: PathBuf,
}

pub(super) struct RuleTarget {
    rule: Option<Notify>,
    targets: NotifyTargets,
    console: Sender<ConsoleMessage>,
    terms: CommandLimits,
}

impl NotifyTargets {
    pub fn new(config: Config, root: &Path, home: &Path) -> Self {
        Self { config, root: root.to_owned(), home: home.to_owned() }
    }

    /// Returns every rule with its name.
    pub(super) fn rules(&self) -> impl Iterator<Item = (String, &Notify)> {
        self.config.notify()
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Resolves the path of a program relative to the project folder; a bare name is
    /// left to `PATH`.
    pub(super) fn resolve_program(&self, named: &str) -> PathBuf {
        if named.contains('/') { self.home.join(named) } else { PathBuf::from(named) }
    }

    pub(super) fn for_rule(
        &self,
        name: &str,
        console: Sender<ConsoleMessage>,
        halt: Arc<AtomicBool>,
    ) -> RuleTarget {
        let rule = self.rules().find(|(own, _)| own == name).map(|(_, rule)| rule.clone());
        let limit = rule.as_ref().map_or(Duration::ZERO, |rule| rule.timeout.0);
        let mark = Some(format!("{}:notify:{name}", self.root.display()));
        let deny = self.config.secret_variables();
        let terms = CommandLimits { timeout: limit, halt, mark, env_removed: deny };
        RuleTarget { rule, targets: self.clone(), console, terms }
    }
}

impl RuleTarget {
    /// Returns the name of the target kind in the event log.
    pub(super) fn kind_name(&self) -> &'static str {
        self.rule.as_ref().map_or("none", |rule| rule.target.as_str())
    }

    /// Ends programs left by an earlier process that was killed during a delivery.
    pub(super) fn end_strays(&self) {
        let programs = [config::Target::Command, config::Target::Desktop];
        if self.rule.as_ref().is_some_and(|rule| programs.contains(&rule.target)) {
            self.terms.kill_strays();
        }
    }

    pub(super) fn send(&self, letter: &NoticeMessage) -> SendResult {
        let Some(rule) = &self.rule else {
            return SendResult::Rejected("the rule does not exist".into());
        };
        match rule.target {
            config::Target::Console => self.show_on_console(rule, letter),
            config::Target::Desktop => self.run_program(&desktop::desktop_command(letter), b""),
            config::Target::Command => {
                self.run_program(&rule.command, letter.to_json().to_string().as_bytes())
            }
            config::Target::Webhook => webhook::send(rule, self.targets.root(), letter),
        }
    }

    fn show_on_console(&self, rule: &Notify, letter: &NoticeMessage) -> SendResult {
        let (shown, confirmed) = sync_channel(1);
        let gone = || SendResult::later("the console is closed".to_owned());
        if self.console.send(ConsoleMessage { letter: letter.clone(), shown }).is_err() {
            return gone();
        }
        match confirmed.recv_timeout(rule.timeout.0) {
            Ok(()) => SendResult::Accepted,
            Err(_) => gone(),
        }
    }

    fn run_program(&self, argv: &[String], input: &[u8]) -> SendResult {
        let [program, rest @ ..] = argv else {
            return SendResult::Rejected("the command is empty".into());
        };
        let path = self.targets.resolve_program(program);
        match self.terms.run_program(&path, rest, input, &self.targets.home) {
            Ok(ran) if ran.is_success() => SendResult::Accepted,
            Ok(ran) => SendResult::later(describe_failure(program, &ran)),
            Err(error) => SendResult::later(format!("cannot start {program}: {error}")),
        }
    }
}

fn describe_failure(program: &str, ran: &CommandResult) -> String {
    let said = to_plain_line(&ran.last_lines());
    let said: String = said.chars().take(OUTPUT_CHARS_MAX).collect();
    let said = if said.is_empty() { said } else { format!(": {said}") };
    format!("{program} ended with {}{said}", ran.exit_text())
}
