//! Relays bytes between two streams in both directions, until both ends are closed or idle.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a connection may carry nothing in either direction. Answers of models take minutes.
const IDLE_MAX: Duration = Duration::from_mins(15);
/// How often to look whether a connection is idle.
const IDLE_CHECK: Duration = Duration::from_secs(30);

/// A stream that can be read and written by two threads.
pub(super) trait RelayStream: Send {
    fn read_bytes(&self, bytes: &mut [u8]) -> io::Result<usize>;
    fn write_bytes(&self, bytes: &[u8]) -> io::Result<()>;
    fn close(&self, how: Shutdown);
    fn set_patience(&self, patience: Duration) -> io::Result<()>;
}

macro_rules! relay_stream {
    ($stream:ty) => {
        impl RelayStream for $stream {
            fn read_bytes(&self, bytes: &mut [u8]) -> io::Result<usize> {
                (&mut &*self).read(bytes)
            }

            fn write_bytes(&self, bytes: &[u8]) -> io::Result<()> {
                (&mut &*self).write_all(bytes)
            }

            fn close(&self, how: Shutdown) {
                let _ = self.shutdown(how);
            }

            fn set_patience(&self, patience: Duration) -> io::Result<()> {
                self.set_read_timeout(Some(patience))?;
                self.set_write_timeout(Some(IDLE_MAX))
            }
        }
    };
}
relay_stream!(TcpStream);
relay_stream!(UnixStream);

/// Relays until both directions are closed, one of them fails, or the connection is idle.
pub(super) fn relay(one: &(impl RelayStream + Sync), other: &(impl RelayStream + Sync)) {
    if one.set_patience(IDLE_CHECK).and(other.set_patience(IDLE_CHECK)).is_err() {
        return;
    }
    let (began, last_ms) = (Instant::now(), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let back = || copy(other, one, began, &last_ms);
        let back = std::thread::Builder::new().stack_size(128 << 10).spawn_scoped(scope, back);
        if back.is_ok() {
            copy(one, other, began, &last_ms);
        }
        // If the thread could not be started, nothing can be answered.
        if back.is_err() {
            one.close(Shutdown::Both);
            other.close(Shutdown::Both);
        }
    });
}

/// Copies one direction. Closes both streams if it fails, so that the other direction ends too.
fn copy(from: &impl RelayStream, to: &impl RelayStream, began: Instant, last_ms: &AtomicU64) {
    let mut bytes = [0; 16 << 10];
    let now_ms = || u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let idle_ms_max = u64::try_from(IDLE_MAX.as_millis()).unwrap_or(u64::MAX);
    loop {
        match from.read_bytes(&mut bytes) {
            Ok(0) => return to.close(Shutdown::Write),
            Ok(read) => {
                last_ms.store(now_ms(), Ordering::Relaxed);
                if to.write_bytes(&bytes[..read]).is_err() {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The other direction may be busy.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
                    && now_ms().saturating_sub(last_ms.load(Ordering::Relaxed)) < idle_ms_max => {}
            Err(_) => break,
        }
    }
    from.close(Shutdown::Both);
    to.close(Shutdown::Both);
}
