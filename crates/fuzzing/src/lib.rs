//! Fuzz targets: for every parser of foreign input, a function that takes any bytes.
//!
//! A target returns if every promise holds and panics if one is broken. This crate knows neither
//! libFuzzer (`fuzz/` does) nor the saved inputs (`fuzz/corpus/`, replayed by the test `corpus` of
//! this crate).

mod fixture;

mod agent_stream;
mod document;
mod event_line;
mod folder;
mod front_matter;
mod message;
mod names;
mod proxy_request;
mod redaction;
mod run_result;
mod story_paper;
mod story_rules;
mod story_state;
mod task_file;
mod test_output;
mod work_log;

pub use agent_stream::agent_stream;
pub use document::document;
pub use event_line::event_line;
pub use folder::folder;
pub use front_matter::front_matter;
pub use message::message;
pub use names::names;
pub use proxy_request::proxy_request;
pub use redaction::redaction;
pub use run_result::run_result;
pub use story_paper::story_paper;
pub use story_rules::story_rules;
pub use story_state::story_state;
pub use task_file::task_file;
pub use test_output::test_output;
pub use work_log::work_log;

#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    /// The name of its binary in `fuzz/` and of its folder in the corpus.
    pub name: &'static str,
    pub run: fn(&[u8]),
}

pub const TARGETS: [FuzzTarget; 16] = [
    FuzzTarget { name: "agent_stream", run: agent_stream },
    FuzzTarget { name: "document", run: document },
    FuzzTarget { name: "event_line", run: event_line },
    FuzzTarget { name: "folder", run: folder },
    FuzzTarget { name: "front_matter", run: front_matter },
    FuzzTarget { name: "message", run: message },
    FuzzTarget { name: "names", run: names },
    FuzzTarget { name: "proxy_request", run: proxy_request },
    FuzzTarget { name: "redaction", run: redaction },
    FuzzTarget { name: "run_result", run: run_result },
    FuzzTarget { name: "story_paper", run: story_paper },
    FuzzTarget { name: "story_rules", run: story_rules },
    FuzzTarget { name: "story_state", run: story_state },
    FuzzTarget { name: "task_file", run: task_file },
    FuzzTarget { name: "test_output", run: test_output },
    FuzzTarget { name: "work_log", run: work_log },
];
