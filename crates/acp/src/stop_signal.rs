//! Listens for signals that ask to stop the agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::channel::oneshot;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

pub(crate) struct StopSignal {
    /// Set when the first signal arrives.
    pub(crate) is_requested: Arc<AtomicBool>,
    /// Resolves when the first signal arrives.
    pub(crate) received: oneshot::Receiver<()>,
}

/// Starts listening. If that fails, signals keep their default action and end the process.
pub(crate) fn listen_for_signals() -> StopSignal {
    let is_requested = Arc::new(AtomicBool::new(false));
    let (tell, comes) = oneshot::channel();
    if let Ok(mut signals) = Signals::new([SIGTERM, SIGINT, SIGHUP]) {
        let is_requested = Arc::clone(&is_requested);
        std::thread::spawn(move || {
            let _ = signals.forever().next();
            is_requested.store(true, Ordering::Release);
            let _ = tell.send(());
            // Keep handling signals: a repeated signal must not end the process half way.
            signals.forever().for_each(drop);
        });
    } else {
        // No signal will be reported. Dropping the sender would look like one to the receiver.
        std::mem::forget(tell);
    }
    StopSignal { is_requested, received: comes }
}
