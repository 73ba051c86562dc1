//! What test runners print: counted, or not, but never a panic.

use adjutant_runtime::testrun::{Format, count};

/// Whatever is counted, no more tests are named than failed or than there is room for.
pub fn test_output(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for format in [None].into_iter().chain(Format::ALL.map(Some)) {
        if let Some(counted) = count(&text, format) {
            assert!(counted.failing.len() <= 200);
            assert!(counted.failing.iter().all(|name| !name.contains(char::is_control)));
        }
    }
}
