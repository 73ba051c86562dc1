//! The adapter for opencode: `opencode acp`, which speaks the Agent Client Protocol.

use serde_json::json;

use super::acp;
use super::adapter::{
    AdapterInput, AgentStreamEvent, SignInDetection, StartPlan, TestedVersions, push_args,
};

pub(super) const TESTED_VERSIONS: TestedVersions =
    TestedVersions { versions: &["1.18.33"], oldest: "1.0.0" };

/// Its list of models and its plug-ins; the host of the model is that of the provider.
pub(super) const NEEDED_HOSTS: &[&str] = &["models.opencode.ai", "registry.npmjs.org"];

pub(super) const SIGN_IN_DETECTION: SignInDetection = SignInDetection {
    variables: &["OPENCODE_API_KEY"],
    files: &[".local/share/opencode/auth.json"],
};

/// Besides `PROVIDER_VARIABLES`, because opencode can use any provider.
pub(super) const PASSED_VARIABLES: &[&str] = &["OPENCODE_*"];

pub(super) fn start(given: &AdapterInput<'_>) -> StartPlan {
    let mut command = given.command("opencode");
    // opencode reports provider errors only in its log.
    push_args(&mut command, &["acp", "--print-logs", "--log-level", "ERROR"]);
    let mut start = acp::start_over_acp(given, command);
    // By default opencode asks for no permission; with this it asks, and `permissions` decides.
    let ask = json!({"*": "ask"}).to_string();
    start.environment.insert("OPENCODE_PERMISSION".to_owned(), ask);
    start.environment.insert("OPENCODE_DISABLE_AUTOUPDATE".to_owned(), "1".to_owned());
    if let Some(model) = &given.agent.model {
        let config = json!({"model": model}).to_string();
        start.environment.insert("OPENCODE_CONFIG_CONTENT".to_owned(), config);
    }
    start
}

/// Parses `level=ERROR … message="stream error" … small=false … error.error="AI_APICallError: …"`.
/// Errors with `small=true` concern the session's title, which opencode can do without.
pub(super) fn read_log(line: &str) -> Option<AgentStreamEvent> {
    let is = |field: &str| line.contains(field);
    if !(is(" level=ERROR ") && is(" message=\"stream error\" ") && is(" small=false ")) {
        return None;
    }
    let (_, said) = line.split_once(" error.error=\"")?;
    let said = said.strip_suffix('"').unwrap_or(said).replace("\\\"", "\"");
    Some(acp::classify_error(said))
}
