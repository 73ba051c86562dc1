//! `adjutant acp-agent`: speaks the Agent Client Protocol with the agent of a run. Not for people.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use adjutant_acp::{Desk, Http, Order, Past, Server, Stopped, Wish};
use adjutant_core::input::Asked;
use adjutant_core::permit::{
    CHOICE_CHARS_MAX, CHOICES_MAX, Choice, Rule, Ruling, TEXT_CHARS_MAX, Table, ToolKind, choose,
};
use adjutant_core::{Actor, Verdict};
use adjutant_runtime::Request;
use adjutant_runtime::agent::RUN_VARIABLES;
use adjutant_runtime::daemon::{Holder, Place};
use adjutant_runtime::shim::files::Folder;
use serde::Deserialize;

use crate::data::{Data, this_program};
use crate::error::Failure;
use crate::inside::Inside;
use crate::output::{Output, stream};

/// Speak the Agent Client Protocol with an agent, as a paper says
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct AcpAgent {
    /// The paper: which agent, and what it may do
    paper: PathBuf,

    /// How many seconds the agent may take to answer before it is given its prompt
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    patience: u64,
}

/// The time between two looks whether a person has answered.
const PAUSE: Duration = Duration::from_millis(200);
/// The time between two signs of life while a person is asked.
const TOUCH: Duration = Duration::from_secs(1);

/// The paper.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Paper {
    command: Vec<String>,
    resume: Option<PastLine>,
    grace_ms: u64,
    permissions: Vec<Line>,
    otherwise: String,
}

/// The session to go on with.
#[derive(Deserialize)]
struct PastLine {
    session: String,
    anew: String,
}

#[derive(Deserialize)]
struct Line {
    tool: Option<String>,
    title: Option<String>,
    answer: String,
}

impl AcpAgent {
    pub(crate) fn run(self, data: Data) -> Result<ExitCode, Failure> {
        let attempt = "cannot speak with the agent";
        let broken = |error: &dyn std::error::Error| Failure::broken(attempt, error);
        let text = std::fs::read_to_string(&self.paper).map_err(|error| broken(&error))?;
        let paper: Paper = serde_json::from_str(&text).map_err(|error| broken(&error))?;
        let mut prompt = String::new();
        std::io::stdin().read_to_string(&mut prompt).map_err(|error| broken(&error))?;
        let folder = std::env::current_dir().map_err(|error| broken(&error))?;
        let inside = Inside::find(attempt)?;
        let table = table(&paper).ok_or_else(|| {
            Failure::usage("the paper names an answer or a tool that nobody knows")
        })?;
        let order = Order {
            command: paper.command,
            folder,
            prompt,
            server: server(data.folder.root(), &inside.token)?,
            past: paper.resume.map(|past| Past { session: past.session, anew: past.anew }),
            patience: Duration::from_secs(self.patience),
            // The rest of it is for the agent to leave in.
            grace: Duration::from_millis(paper.grace_ms / 2),
        };
        let attempt = self.paper.parent().unwrap_or(Path::new("."));
        let desk =
            RunDesk { table, data, inside, folder: Folder::at(attempt), asked: AtomicU32::new(0) };
        let desk: Arc<dyn Desk> = Arc::new(desk);
        let held = adjutant_acp::run(&order, &desk, stream());
        // What went wrong was told as a line of the stream.
        Ok(ExitCode::from(u8::from(held.is_err())))
    }
}

/// Returns our MCP server, with what tells it which run it speaks for.
fn server(root: &Path, token: &str) -> Result<Server, Failure> {
    let variable = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    Ok(Server {
        name: "adjutant".to_owned(),
        program: this_program()?,
        args: vec!["mcp".to_owned()],
        env: RUN_VARIABLES.iter().filter_map(variable).collect(),
        http: http(root, token),
    })
}

/// Returns where the same server can be called, while there is a daemon that can be.
fn http(root: &Path, token: &str) -> Option<Http> {
    let place = Holder::of(root).and_then(|holder| Place::of(root, holder.pid))?;
    let headers = vec![("Authorization".to_owned(), format!("Bearer {token}"))];
    Some(Http { url: format!("{}/mcp", place.url), headers })
}

/// Reads the table; none if it says what nobody knows.
fn table(paper: &Paper) -> Option<Table> {
    let rule = |line: &Line| {
        let tool = match &line.tool {
            Some(word) => Some(ToolKind::parse(word)?),
            None => None,
        };
        Some(Rule { tool, title: line.title.clone(), ruling: Ruling::parse(&line.answer)? })
    };
    let rules: Option<Vec<Rule>> = paper.permissions.iter().map(rule).collect();
    Some(Table { rules: rules?, otherwise: Ruling::parse(&paper.otherwise)? })
}

/// Answers by the table, and else asks a person by way of the inbox.
struct RunDesk {
    table: Table,
    data: Data,
    inside: Inside,
    /// The folder of the attempt.
    folder: Folder,
    asked: AtomicU32,
}

impl Desk for RunDesk {
    fn answer(&self, wish: &Wish, stopped: &Stopped) -> Option<String> {
        let by_table = |allow| choose(&wish.choices, allow).map(|choice| choice.id.clone());
        if is_ours(wish) {
            return by_table(true);
        }
        match self.table.judge(wish.tool, &wish.title) {
            Ruling::Allow => by_table(true),
            Ruling::Deny => by_table(false),
            Ruling::Ask => self.ask(wish, stopped),
        }
    }
}

impl RunDesk {
    /// Puts the question into the inbox, and waits for a person or the end of the run. The run is
    /// not idle meanwhile: it is the person who takes the time.
    fn ask(&self, wish: &Wish, stopped: &Stopped) -> Option<String> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let request = Request::PermissionAsked {
            task: self.inside.task.clone(),
            by: Actor::Agent(self.inside.agent.clone()),
            token: self.inside.token.clone(),
            asked: Asked {
                number,
                text: brief(&wish.text, TEXT_CHARS_MAX),
                choices: wish.choices.iter().take(CHOICES_MAX).map(shown).collect(),
            },
        };
        // Nobody is asked where the question cannot be put; the agent is told that it may not.
        let answered = self.data.submit(request, &Output::new(true)).ok()?;
        if !matches!(answered.answer.verdict, Verdict::Applied | Verdict::Noop) {
            return None;
        }
        let mut touched = Instant::now();
        while !stopped.get() {
            if let Ok(Some(answer)) = self.folder.answer(number) {
                return answer.choice;
            }
            if touched.elapsed() >= TOUCH {
                self.inside.touch(self.data.folder.root());
                touched = Instant::now();
            }
            std::thread::sleep(PAUSE);
        }
        None
    }
}

/// Says whether it is a tool of our own MCP server: what those may do is settled by the run's token.
/// What runs a command or changes a file is none, whatever it is called.
fn is_ours(wish: &Wish) -> bool {
    let harmless = matches!(wish.tool, ToolKind::Other | ToolKind::Think | ToolKind::Read);
    let named = ["mcp__adjutant__", "adjutant_", "adjutant/", "mcp.adjutant.", "adjutant: "];
    let ours = wish.title.ends_with(" (adjutant MCP Server)");
    harmless && (ours || named.iter().any(|start| wish.title.starts_with(start)))
}

fn shown(choice: &Choice) -> Choice {
    Choice { name: brief(&choice.name, CHOICE_CHARS_MAX), ..choice.clone() }
}

/// Returns the beginning of a text, which is not empty.
fn brief(text: &str, most: usize) -> String {
    let brief: String = text.chars().take(most).collect();
    if brief.trim().is_empty() { "something".to_owned() } else { brief }
}
