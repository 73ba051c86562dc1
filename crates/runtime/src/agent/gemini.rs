//! Gemini CLI: `gemini --acp`, which speaks the Agent Client Protocol.

use super::acp;
use super::adapter::{Given, SignedIn, Start, Tried, push};

pub(super) const TRIED: Tried = Tried { versions: &["0.61.0"], oldest: "0.50.0" };

pub(super) const SIGNED_IN: SignedIn = SignedIn {
    variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    files: &[".gemini/oauth_creds.json"],
};

pub(super) fn start(given: &Given<'_>) -> Start {
    let mut command = given.command("gemini");
    push(&mut command, &["--acp"]);
    // In a folder that nobody has looked at it would leave out our MCP server.
    if !given.says(&["--skip-trust"]) {
        push(&mut command, &["--skip-trust"]);
    }
    if let Some(model) = &given.agent.model {
        push(&mut command, &["--model", model]);
    }
    acp::over(given, command)
}
