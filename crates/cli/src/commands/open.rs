//! `adjutant open`: prints a sign-in link for the board, and opens it on a desktop.

use std::io::IsTerminal as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use adjutant_daemon::{DaemonInfo, HttpEndpointFile};
use adjutant_model::command::OperatorAction;
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_server::http::{OperatorToken, login_url, new_sign_in_code};
use serde_json::json;

use crate::commands::up::server::token_path;
use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Print a sign-in link for the board of the running daemon, and open it on a desktop
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The link works once, within 15 minutes, in any browser that can reach the address.
In a terminal on a desktop the link is also opened; with `--json` or a pipe it is only printed.

Examples:
  adjutant open         print the link, and open it on a desktop
  adjutant open --json  print the link as {\"url\":…,\"login\":…}")]
pub(crate) struct OpenArgs {}

const ATTEMPT: &str = "cannot open the board";

impl OpenArgs {
    #[expect(clippy::unused_self, reason = "it is called like every other command")]
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        data.require_operator(OperatorAction::Open, ATTEMPT, out)?;
        let (url, link) = make_link(data)?;
        if out.is_json() {
            out.document(&json!({ "url": url, "login": link }))?;
        } else {
            out.line(&format!("the board, with a link that works once: {link}"))?;
            if std::io::stdout().is_terminal() {
                open_on_desktop(&link);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the address of the board, and a new sign-in link.
fn make_link(data: &ProjectData) -> Result<(String, String), CommandFailure> {
    let root = data.folder.root();
    let daemon = DaemonInfo::find_running(root).ok_or_else(|| {
        CommandFailure::not_possible(ATTEMPT, "no daemon is running")
            .with_hint("`adjutant up` starts one, and prints a link itself")
    })?;
    let place = HttpEndpointFile::read(root, daemon.pid).ok_or_else(|| {
        CommandFailure::not_possible(ATTEMPT, "the daemon serves no HTTP").with_hint(
            "restart it without `--listen off` and without `listen = \"off\"` in [server]",
        )
    })?;
    let token = OperatorToken::read(&token_path(data))
        .map_err(|error| CommandFailure::broken(ATTEMPT, &error))?;
    let code = new_sign_in_code(&token, &daemon.identity(), SystemClock.now())
        .map_err(|error| CommandFailure::broken(ATTEMPT, &error))?;
    let link = login_url(&place.url, &code);
    Ok((place.url, link))
}

/// Opens a link in the person's browser. The link was printed, so a failure needs no words.
fn open_on_desktop(link: &str) {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let program = match std::env::consts::OS {
        "macos" => "open",
        _ if is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") => "xdg-open",
        _ => return,
    };
    let mut browser = Command::new(program);
    browser.arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A browser that this starts must outlive the terminal's Ctrl-C.
    let _ = browser.process_group(0).spawn();
}
