//! Agents that are reached in another way than by a command: over the Agent Client Protocol, and by
//! HTTP.

mod acp;
mod webhook;
