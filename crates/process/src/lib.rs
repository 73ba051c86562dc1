//! What Adjutant needs of the operating system: processes within limits, the test runner, files
//! that are written whole, and the clock. It knows no task, run or store.

#[cfg(not(unix))]
compile_error!(
    "Adjutant supervises processes as Linux and macOS have them; on Windows, build it inside WSL"
);

pub mod atomic_file;
pub mod clock;
pub mod par_map_io;
pub mod process_table;
pub mod regular_file;
pub mod test_runner;

pub use clock::{Clock, FixedClock, SystemClock};
