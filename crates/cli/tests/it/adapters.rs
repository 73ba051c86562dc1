//! Agents that are not plain commands: agents of the Agent Client Protocol, and webhooks.

mod acp;
mod webhook;
