//! Panics: their message and location for the person, their backtrace for the log.

use std::backtrace::Backtrace;
use std::panic::PanicHookInfo;
use std::sync::OnceLock;

use parking_lot::Mutex;

/// The place of the last panic, in whichever thread it was.
static LAST_LOCATION: OnceLock<Mutex<Option<String>>> = OnceLock::new();

/// Replaces the default hook, which writes to standard error: a command prints a panic like any
/// other failure. The hook runs in the thread that panics, so the log also has panics
/// of the daemon's threads.
pub(crate) fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        let location = location(info);
        let message = info.payload_as_str().unwrap_or("a panic without a message");
        let thread = std::thread::current();
        tracing::error!(
            thread = thread.name().unwrap_or("unnamed"),
            location,
            backtrace = %Backtrace::force_capture(),
            "panic: {message}"
        );
        *last_location().lock() = Some(location);
    }));
}

/// Returns where the last panic was, once.
pub(crate) fn take_location() -> Option<String> {
    last_location().lock().take()
}

fn location(info: &PanicHookInfo<'_>) -> String {
    info.location().map_or_else(|| "an unknown location".to_owned(), ToString::to_string)
}

fn last_location() -> &'static Mutex<Option<String>> {
    LAST_LOCATION.get_or_init(Mutex::default)
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;
    use crate::output::error::panic_failure;

    #[test]
    fn panic_keeps_its_message_and_location() {
        install_hook();
        let panic = catch_unwind(|| panic!("the queue is empty")).expect_err("it panics");
        let text = panic_failure(panic.as_ref()).message_with_causes();
        assert!(text.contains("the queue is empty"), "{text}");
        assert!(text.contains("panic_report.rs:"), "{text}");
    }
}
