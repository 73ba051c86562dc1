//! Fuzz target: output of test runners is counted or not, but never causes a panic.

use adjutant_process::test_runner::{TestFormat, count};

/// A count names at most as many failing tests as the limit allows, without control characters.
pub fn test_output(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for format in [None].into_iter().chain(TestFormat::ALL.map(Some)) {
        if let Some(counted) = count(&text, format) {
            assert!(counted.failing.len() <= 200);
            assert!(counted.failing.iter().all(|name| !name.contains(char::is_control)));
        }
    }
}
