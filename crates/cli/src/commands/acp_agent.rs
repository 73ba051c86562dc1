//! `adjutant acp-agent`: runs an agent over the Agent Client Protocol. Started by the daemon only.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use adjutant_acp::{
    AcpRunOptions, McpHttpEndpoint, McpServerSpec, PermissionHandler, PreviousSession, StopFlag,
    ToolPermissionRequest,
};
use adjutant_core::permission;
use adjutant_daemon::{DaemonInfo, HttpEndpointFile};
use adjutant_engine::Request;
use adjutant_model::permission::{
    CHOICE_CHARS_MAX, CHOICES_MAX, PermissionChoice, PermissionRule, PermissionRuling,
    PermissionTable, TEXT_CHARS_MAX, ToolKind, choose,
};
use adjutant_model::request::AskedPermission;
use adjutant_model::{Actor, AnswerVerdict};
use adjutant_run_files::attempt_files::AttemptFolder;
use adjutant_runs::agent::RUN_VARIABLES;
use serde::Deserialize;

use crate::data::{ProjectData, submit_as_run, this_program};
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, stdout_stream};
use crate::run_connection::RunConnection;
use crate::run_environment::RunEnvironment;

/// Run an agent over the Agent Client Protocol
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct AcpAgentArgs {
    /// The file that names the agent and its permissions
    paper: PathBuf,

    /// How many seconds the agent may take to start its session
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    patience: u64,
}

/// The interval between two checks for a person's answer.
const ANSWER_POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The interval between two heartbeats while a person is asked.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

/// The instructions for this run, written by the daemon as a JSON file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AcpRunInstructions {
    command: Vec<String>,
    resume: Option<ResumeEntry>,
    grace_ms: u64,
    permissions: Vec<PermissionEntry>,
    otherwise: String,
}

/// The session to resume; `anew` is the prompt if it cannot be resumed.
#[derive(Deserialize)]
struct ResumeEntry {
    session: String,
    anew: String,
}

#[derive(Deserialize)]
struct PermissionEntry {
    tool: Option<String>,
    title: Option<String>,
    command: Option<String>,
    path: Option<String>,
    server: Option<String>,
    #[serde(default)]
    unseen: bool,
    answer: String,
}

impl AcpAgentArgs {
    pub(crate) fn run(self, data: ProjectData) -> Result<ExitCode, CommandFailure> {
        let attempt = "cannot run the agent over ACP";
        let broken = |error: &dyn std::error::Error| CommandFailure::broken(attempt, error);
        let text = std::fs::read_to_string(&self.paper).map_err(|error| broken(&error))?;
        let paper: AcpRunInstructions =
            serde_json::from_str(&text).map_err(|error| broken(&error))?;
        let mut prompt = String::new();
        std::io::stdin().read_to_string(&mut prompt).map_err(|error| broken(&error))?;
        let folder = std::env::current_dir().map_err(|error| broken(&error))?;
        let inside = RunEnvironment::from_env(attempt)?;
        let table = parse_rules(&paper).ok_or_else(|| {
            CommandFailure::report_usage_error(
                "the permissions of the agent name an unknown answer or tool",
            )
        })?;
        let order = AcpRunOptions {
            command: paper.command,
            folder,
            prompt,
            server: mcp_server(data.folder.root(), &inside.token)?,
            resume: paper
                .resume
                .map(|past| PreviousSession { session: past.session, restart_prompt: past.anew }),
            request_timeout: Duration::from_secs(self.patience),
            // The other half is for the agent to exit in.
            cancel_timeout: Duration::from_millis(paper.grace_ms / 2),
        };
        let attempt = self.paper.parent().unwrap_or(Path::new("."));
        let desk = InboxPermissionHandler {
            rules: table,
            data,
            inside,
            folder: AttemptFolder::new(attempt),
            questions_asked: AtomicU32::new(0),
        };
        let desk: Arc<dyn PermissionHandler> = Arc::new(desk);
        let held = adjutant_acp::run(&order, &desk, stdout_stream());
        // The error was already printed as a line of the stream.
        Ok(ExitCode::from(u8::from(held.is_err())))
    }
}

/// Returns our MCP server, with the environment that tells it which run it serves.
fn mcp_server(root: &Path, token: &str) -> Result<McpServerSpec, CommandFailure> {
    let variable = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    Ok(McpServerSpec {
        name: permission::OWN_SERVER.to_owned(),
        program: this_program()?,
        args: vec!["mcp".to_owned()],
        env: RUN_VARIABLES.iter().filter_map(variable).collect(),
        http: mcp_http_endpoint(root, token),
    })
}

/// Returns the HTTP address of the same server, if a daemon serves HTTP.
fn mcp_http_endpoint(root: &Path, token: &str) -> Option<McpHttpEndpoint> {
    let place = DaemonInfo::find_running(root)
        .and_then(|holder| HttpEndpointFile::read(root, holder.pid))
        // An agent may not trust our certificate; it can start our server as a program.
        .filter(|place| !place.url.starts_with("https:"))?;
    let headers = vec![("Authorization".to_owned(), format!("Bearer {token}"))];
    Some(McpHttpEndpoint { url: format!("{}/mcp", place.url), headers })
}

/// Parses the permission rules; `None` if one has an unknown word.
fn parse_rules(paper: &AcpRunInstructions) -> Option<PermissionTable> {
    let rule = |line: &PermissionEntry| {
        let tool = match &line.tool {
            Some(word) => Some(ToolKind::parse(word)?),
            None => None,
        };
        Some(PermissionRule {
            tool,
            title: line.title.clone(),
            command: line.command.clone(),
            path: line.path.clone(),
            server: line.server.clone(),
            unseen: line.unseen,
            ruling: PermissionRuling::parse(&line.answer)?,
        })
    };
    let rules: Option<Vec<PermissionRule>> = paper.permissions.iter().map(rule).collect();
    Some(PermissionTable { rules: rules?, otherwise: PermissionRuling::parse(&paper.otherwise)? })
}

/// Answers permission requests by the rules, or asks a person through the inbox.
struct InboxPermissionHandler {
    rules: PermissionTable,
    data: ProjectData,
    inside: RunEnvironment,
    folder: AttemptFolder,
    questions_asked: AtomicU32,
}

impl PermissionHandler for InboxPermissionHandler {
    fn answer(&self, wish: &ToolPermissionRequest, stopped: &StopFlag) -> Option<String> {
        let by_table = |allow| choose(&wish.choices, allow).map(|choice| choice.id.clone());
        if wish.names_its_call && wish.actions.iter().all(permission::is_own_tool) {
            return by_table(true);
        }
        match permission::judge_all(&self.rules, &wish.actions) {
            PermissionRuling::Allow => by_table(true),
            PermissionRuling::Deny => by_table(false),
            PermissionRuling::Ask => self.ask_person(wish, stopped),
        }
    }
}

impl InboxPermissionHandler {
    /// Puts the question into the inbox and waits for an answer or the end of the run. Sends
    /// heartbeats meanwhile, because the run waits for a person and is not idle.
    fn ask_person(&self, wish: &ToolPermissionRequest, stopped: &StopFlag) -> Option<String> {
        let number = self.questions_asked.fetch_add(1, Ordering::Relaxed) + 1;
        let request = Request::PermissionAsked {
            task: self.inside.task.clone(),
            by: Actor::Agent(self.inside.agent.clone()),
            token: self.inside.token.clone(),
            asked: AskedPermission {
                number,
                text: shorten_text(&wish.text, TEXT_CHARS_MAX),
                choices: wish.choices.iter().take(CHOICES_MAX).map(shorten_choice).collect(),
            },
        };
        // If the question cannot be submitted, the permission is denied.
        let data = || Ok(self.data.clone());
        let answered = submit_as_run(request, data, &CommandOutput::new(true)).ok()?;
        if !matches!(answered.answer.verdict, AnswerVerdict::Applied | AnswerVerdict::Noop) {
            return None;
        }
        let mut touched = Instant::now();
        while !stopped.is_set() {
            if let Ok(Some(answer)) = self.folder.answer(number) {
                return answer.choice;
            }
            if touched.elapsed() >= HEARTBEAT_INTERVAL {
                if let Some(connection) = RunConnection::from_env() {
                    connection.record_activity();
                }
                touched = Instant::now();
            }
            std::thread::sleep(ANSWER_POLL_INTERVAL);
        }
        None
    }
}

fn shorten_choice(choice: &PermissionChoice) -> PermissionChoice {
    PermissionChoice { name: shorten_text(&choice.name, CHOICE_CHARS_MAX), ..choice.clone() }
}

/// Cuts a text to `most` characters, and says so. The result is never blank.
fn shorten_text(text: &str, most: usize) -> String {
    if text.trim().is_empty() {
        return "(no description)".to_owned();
    }
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let mark = format!("… ({count} characters in all)");
    let room = most.saturating_sub(mark.chars().count());
    text.chars().take(room).chain(mark.chars()).take(most).collect()
}
