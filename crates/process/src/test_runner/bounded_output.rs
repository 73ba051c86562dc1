//! Reads the output of a command, whatever else holds the pipe open.

use std::io::Read;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The most bytes that are kept of each output stream.
const OUTPUT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How long to wait for the end of a stream when no process of the command is left: a process
/// outside may have got the pipe.
const PATIENCE: Duration = Duration::from_secs(1);

/// An output stream that a thread reads.
pub struct BoundedOutput(Receiver<Vec<u8>>);

impl BoundedOutput {
    /// Reads a stream to its end in a thread, and keeps its beginning.
    pub fn read(mut stream: impl Read + Send + 'static) -> Self {
        let (pieces, output) = channel();
        std::thread::spawn(move || {
            let mut left = OUTPUT_BYTES_MAX;
            let mut piece = vec![0; 64 * 1024];
            while let Ok(read) = stream.read(&mut piece) {
                if read == 0 {
                    break;
                }
                let kept = left.min(read);
                left -= kept;
                // Without a receiver the stream is still read, so that no writer blocks.
                let _ = pieces.send(piece[..kept].to_vec());
            }
        });
        Self(output)
    }

    /// Returns what was printed. Call it when the processes of the command are gone.
    pub fn finish(self) -> Vec<u8> {
        let until = Instant::now() + PATIENCE;
        let mut output = Vec::new();
        while let Ok(piece) = self.0.recv_timeout(until.saturating_duration_since(Instant::now())) {
            output.extend_from_slice(&piece);
        }
        output
    }
}
