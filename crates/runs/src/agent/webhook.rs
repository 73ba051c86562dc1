//! The adapter for a remote agent that is called by HTTP. `adjutant webhook-agent` calls it in a
//! separate process, which stays until the run is over.

use serde_json::json;

use super::adapter::{AdapterInput, StartPlan, push_args};

/// The file that tells `adjutant webhook-agent` where the agent is.
const WEBHOOK_CONFIG_FILE: &str = "webhook.json";

pub(super) fn start(given: &AdapterInput<'_>) -> StartPlan {
    let agent = given.agent;
    // No file of a run contains the secret: `adjutant webhook-agent` reads it from
    // the named variable.
    let paper = json!({
        "url": agent.url,
        "secretEnv": agent.secret_env,
    });
    let mut command = vec![given.program.to_owned()];
    push_args(&mut command, &["webhook-agent", &given.attempt_file(WEBHOOK_CONFIG_FILE)]);
    StartPlan {
        command,
        files: vec![(WEBHOOK_CONFIG_FILE.to_owned(), format!("{paper:#}\n"))],
        ..StartPlan::default()
    }
}
