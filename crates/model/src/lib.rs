//! The domain types of Adjutant. Each is defined once, here: the type that decisions use is also
//! what files, journals, sockets and nodes carry.
//!
//! Parsing yields valid values only. Nothing here does IO, reads a clock or applies a rule.

pub mod content;
pub mod encoding;
#[cfg(feature = "schema")]
pub mod schema;
pub mod text_value;

pub mod actor;
pub mod node_id;
pub mod priority;
pub mod relative_path;
pub mod status;
pub mod task_id;
pub mod time;

pub mod command_text;
pub mod completion;
pub mod date_text;
pub mod duration_text;
pub mod evidence;
pub mod handoff;
pub mod permission;
pub mod review;
pub mod run;
pub mod run_file;
pub mod run_history;
pub mod run_nonce;
pub mod sandbox_level;
pub mod task;
pub mod time_limits;
pub mod usage;
pub mod work;
pub mod work_log;

pub mod field_reader;

pub mod constraints;
pub mod delegation;
pub mod dialect;
pub mod document;
pub mod message_type;
pub mod mission;
pub mod story;
pub mod task_origin;

pub mod answer;
pub mod command;
pub mod effect;
pub mod event;
pub mod event_id;
pub mod merge_mode;
pub mod notice;
pub mod policy;
pub mod request;

pub use actor::{Actor, AgentId};
pub use answer::{Answer, AnswerVerdict, FieldProblem, Reason};
pub use command::Command;
pub use effect::Effect;
pub use event::{Event, RecordedEvent};
pub use event_id::EventId;
pub use node_id::NodeId;
pub use policy::Policy;
pub use priority::Priority;
pub use status::Status;
pub use task::Task;
pub use task_id::TaskId;
pub use time::{Time, Timestamp};
