//! The names of agents and of everybody else who can cause an event.

use adjutant_core::name::NAME_CHARS_MAX;
use schemars::json_schema;

use super::described;
use super::text::LINE;

described! {
    /// The name of an agent: one line that is not blank.
    AgentName => json_schema!({
        "type": "string",
        "maxLength": NAME_CHARS_MAX,
        "pattern": LINE,
        "examples": ["swe-backend"],
    })
}

described! {
    /// The name of the agent that speaks. The names the record keeps for others than agents are
    /// refused.
    Sender => json_schema!({
        "type": "string",
        "maxLength": NAME_CHARS_MAX,
        "pattern": LINE,
        "not": {"pattern": "^(?:scheduler|router|system)$|^human:"},
        "examples": ["swe-backend"],
    })
}

described! {
    /// Whoever caused an event: an agent by its name, `human:` and a name, `scheduler`, `router` or
    /// `system`.
    Actor => json_schema!({
        "type": "string",
        "pattern": LINE,
        "examples": ["swe-backend", "human:alice", "router"],
    })
}
