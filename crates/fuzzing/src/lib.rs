//! What a fuzzer calls: for every parser that reads what others wrote, a function of any bytes.
//!
//! A target returns if every promise was kept and panics if one was broken. It knows neither
//! libFuzzer (`fuzz/` does) nor the inputs that are kept (`fuzz/corpus/`, replayed by the test
//! `corpus` of this crate).

mod given;

mod agent_stream;
mod document;
mod event_line;
mod folder;
mod front_matter;
mod message;
mod names;
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
pub use run_result::run_result;
pub use story_paper::story_paper;
pub use story_rules::story_rules;
pub use story_state::story_state;
pub use task_file::task_file;
pub use test_output::test_output;
pub use work_log::work_log;

/// A target, and what it is called in `fuzz/`.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of its binary and of its folder in the corpus.
    pub name: &'static str,
    /// The target itself.
    pub run: fn(&[u8]),
}

/// Every target there is.
pub const TARGETS: [Target; 14] = [
    Target { name: "agent_stream", run: agent_stream },
    Target { name: "document", run: document },
    Target { name: "event_line", run: event_line },
    Target { name: "folder", run: folder },
    Target { name: "front_matter", run: front_matter },
    Target { name: "message", run: message },
    Target { name: "names", run: names },
    Target { name: "run_result", run: run_result },
    Target { name: "story_paper", run: story_paper },
    Target { name: "story_rules", run: story_rules },
    Target { name: "story_state", run: story_state },
    Target { name: "task_file", run: task_file },
    Target { name: "test_output", run: test_output },
    Target { name: "work_log", run: work_log },
];
