//! A child that stands still at a step on disk until it is told to go on.

use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// A child that stands still; it does not outlive the test.
pub struct Paused(Child);

impl Paused {
    /// Starts a child and waits until it stands still; none if it ended without.
    pub fn at(point: u32, command: &mut Command) -> Option<Self> {
        command.env("ADJUTANT_PAUSE_AT", point.to_string()).stdout(Stdio::null());
        let paused = Self(command.spawn().expect("the child starts"));
        let (_, status) = waitpid(Some(Pid::from_child(&paused.0)), WaitOptions::UNTRACED)
            .expect("a child can be waited for")
            .expect("it has come to something");
        assert!(status.stopped() || status.exit_status() == Some(0), "{status:?}");
        status.stopped().then_some(paused)
    }

    /// Lets it go on, and returns how it ended.
    pub fn go_on(mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.0), Signal::CONT).expect("it goes on");
        self.0.wait().expect("it ends")
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
