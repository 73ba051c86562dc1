//! opencode: `opencode acp`, which speaks the Agent Client Protocol.

use serde_json::json;

use super::acp;
use super::adapter::{Given, Heard, SignedIn, Start, Tried, push};

pub(super) const TRIED: Tried = Tried { versions: &["1.18.33"], oldest: "1.0.0" };

pub(super) const SIGNED_IN: SignedIn =
    SignedIn { variables: &["OPENCODE_API_KEY"], files: &[".local/share/opencode/auth.json"] };

pub(super) fn start(given: &Given<'_>) -> Start {
    let mut command = given.command("opencode");
    // What its server answers it tells in its log only.
    push(&mut command, &["acp", "--print-logs", "--log-level", "ERROR"]);
    let mut start = acp::over(given, command);
    // It asks for nothing by itself; what it may do is for `permissions` to say.
    let ask = json!({"*": "ask"}).to_string();
    start.environment.insert("OPENCODE_PERMISSION".to_owned(), ask);
    start.environment.insert("OPENCODE_DISABLE_AUTOUPDATE".to_owned(), "1".to_owned());
    if let Some(model) = &given.agent.model {
        let config = json!({"model": model}).to_string();
        start.environment.insert("OPENCODE_CONFIG_CONTENT".to_owned(), config);
    }
    start
}

/// Reads `level=ERROR … message="stream error" … small=false … error.error="AI_APICallError: …"`.
/// What is small is a title that it makes for itself, and can do without.
pub(super) fn read_log(line: &str) -> Option<Heard> {
    let is = |field: &str| line.contains(field);
    if !(is(" level=ERROR ") && is(" message=\"stream error\" ") && is(" small=false ")) {
        return None;
    }
    let (_, said) = line.split_once(" error.error=\"")?;
    let said = said.strip_suffix('"').unwrap_or(said).replace("\\\"", "\"");
    Some(acp::failed(said))
}
