//! An agent elsewhere, which is called by HTTP. This program calls it in another process, as
//! `adjutant webhook-agent`, which stays until the run is over.

use serde_json::json;

use super::adapter::{Given, Start, push};

/// The paper that says where the agent is.
const PAPER: &str = "webhook.json";

pub(super) fn start(given: &Given<'_>) -> Start {
    let agent = given.agent;
    // The secret itself stands in no file of a run: it is read from the variable it is named by.
    let paper = json!({
        "url": agent.url,
        "secretEnv": agent.secret_env,
    });
    let mut command = vec![given.program.to_owned()];
    push(&mut command, &["webhook-agent", &given.paper(PAPER)]);
    Start { command, papers: vec![(PAPER.to_owned(), format!("{paper:#}\n"))], ..Start::default() }
}
