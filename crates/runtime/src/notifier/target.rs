//! Who is told, and how. Whether it is tried again is not decided here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::time::Duration;

use super::desktop;
use super::letter::{Letter, clean};
use super::webhook;
use crate::config::{self, Config, Notify};
use crate::testrun::run::{Ran, Terms};

/// The most characters of what a program said that are told.
const SAID_CHARS_MAX: usize = 200;

/// What came of a try.
#[derive(Debug)]
pub(super) enum Tried {
    /// It was taken.
    Taken,
    /// It may be taken later: why not now, and after how long if the target says so.
    Later { why: String, after: Option<Duration> },
    /// It will never be taken.
    Never(String),
}

impl Tried {
    pub(super) fn later(why: String) -> Self {
        Self::Later { why, after: None }
    }
}

/// Something to be shown where the daemon shows things.
pub struct Call {
    /// What is to be shown.
    pub letter: Letter,
    shown: SyncSender<()>,
}

impl Call {
    /// Confirms that it was shown.
    pub fn confirm(self) {
        // Who waited for it may be gone.
        let _ = self.shown.send(());
    }
}

/// Where targets are found: in the configuration of a folder.
#[derive(Debug, Clone)]
pub struct Targets {
    config: Config,
    /// The data folder.
    root: PathBuf,
    /// The folder that holds it, where programs run.
    home: PathBuf,
}

/// The target of one rule.
pub(super) struct Target {
    rule: Option<Notify>,
    place: Targets,
    console: Sender<Call>,
    terms: Terms,
}

impl Targets {
    /// Takes them from the configuration of a data folder, and runs programs in `home`.
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

    /// Returns where a program lies that is named by the way to it, from where programs run.
    pub(super) fn program(&self, named: &str) -> PathBuf {
        if named.contains('/') { self.home.join(named) } else { PathBuf::from(named) }
    }

    pub(super) fn of(&self, name: &str, console: Sender<Call>, halt: Arc<AtomicBool>) -> Target {
        let rule = self.rules().find(|(own, _)| own == name).map(|(_, rule)| rule.clone());
        let limit = rule.as_ref().map_or(Duration::ZERO, |rule| rule.timeout.0);
        let mark = Some(format!("{}:notify:{name}", self.root.display()));
        let deny = self.config.secret_variables();
        let terms = Terms { limit, halt, mark, deny, ..Terms::default() };
        Target { rule, place: self.clone(), console, terms }
    }
}

impl Target {
    /// Returns the word of the record.
    pub(super) fn word(&self) -> &'static str {
        self.rule.as_ref().map_or("none", |rule| rule.target.as_str())
    }

    /// Ends what an earlier process of ours left that was killed while a program was told.
    pub(super) fn end_strays(&self) {
        let programs = [config::Target::Command, config::Target::Desktop];
        if self.rule.as_ref().is_some_and(|rule| programs.contains(&rule.target)) {
            self.terms.end_strays();
        }
    }

    /// Tells somebody something.
    pub(super) fn send(&self, letter: &Letter) -> Tried {
        let Some(rule) = &self.rule else { return Tried::Never("there is no such rule".into()) };
        match rule.target {
            config::Target::Console => self.show(rule, letter),
            config::Target::Desktop => self.run(&desktop::command(letter), b""),
            config::Target::Command => {
                self.run(&rule.command, letter.document().to_string().as_bytes())
            }
            config::Target::Webhook => webhook::send(rule, self.place.root(), letter),
        }
    }

    fn show(&self, rule: &Notify, letter: &Letter) -> Tried {
        let (shown, confirmed) = sync_channel(1);
        let gone = || Tried::later("nobody shows anything any more".to_owned());
        if self.console.send(Call { letter: letter.clone(), shown }).is_err() {
            return gone();
        }
        match confirmed.recv_timeout(rule.timeout.0) {
            Ok(()) => Tried::Taken,
            Err(_) => gone(),
        }
    }

    fn run(&self, argv: &[String], input: &[u8]) -> Tried {
        let [program, rest @ ..] = argv else { return Tried::Never("no program is named".into()) };
        let path = self.place.program(program);
        match self.terms.run_program(&path, rest, input, &self.place.home) {
            Ok(ran) if ran.success() => Tried::Taken,
            Ok(ran) => Tried::later(failed(program, &ran)),
            Err(error) => Tried::later(format!("cannot start {program}: {error}")),
        }
    }
}

fn failed(program: &str, ran: &Ran) -> String {
    let said = clean(&ran.last_words());
    let said: String = said.chars().take(SAID_CHARS_MAX).collect();
    let said = if said.is_empty() { said } else { format!(": {said}") };
    format!("{program} ended with {}{said}", ran.ended_in_words())
}
