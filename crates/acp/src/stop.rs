//! Hears that somebody wants the agent stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::channel::oneshot;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Whether somebody wants the agent stopped.
pub(crate) struct Stop {
    /// Set as soon as that is so.
    pub(crate) wanted: Arc<AtomicBool>,
    /// Comes then.
    pub(crate) comes: oneshot::Receiver<()>,
}

/// Listens from now on. Where signals cannot be listened to, they end the process, as they do.
pub(crate) fn listen() -> Stop {
    let wanted = Arc::new(AtomicBool::new(false));
    let (tell, comes) = oneshot::channel();
    if let Ok(mut signals) = Signals::new([SIGTERM, SIGINT, SIGHUP]) {
        let wanted = Arc::clone(&wanted);
        std::thread::spawn(move || {
            let _ = signals.forever().next();
            wanted.store(true, Ordering::Release);
            let _ = tell.send(());
            // It is held on to: the same signal again must not end the process half way.
            signals.forever().for_each(drop);
        });
    } else {
        // Nobody will ever tell; that the other end is gone must not be taken for it.
        std::mem::forget(tell);
    }
    Stop { wanted, comes }
}
