//! The core's tests: decisions by table, properties, and the texts the core reads and prints.

mod support;

mod accounts;
mod bad_messages;
mod decide_document;
mod decide_status_by_message;
mod decide_status_by_status;
mod documents;
mod fetch_work;
mod fleet;
mod golden;
mod import;
mod notices;
mod odd_files;
mod permission_requests;
mod pipeline;
mod properties;
mod round_trip;
mod routing_warnings;
mod runs;
mod story;
mod task_size;
mod who_may_speak;
mod work;
