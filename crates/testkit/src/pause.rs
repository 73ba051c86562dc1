//! A child that stands still at a step on disk until it is told to go on.

use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// A child that stands still; it does not outlive the test.
pub struct Paused(Child);

impl Paused {
    /// Starts a child and waits until it stands still for the first time; none if it ended
    /// without.
    pub fn at(points: &[u32], command: &mut Command) -> Option<Self> {
        let points: Vec<String> = points.iter().map(u32::to_string).collect();
        command.env("ADJUTANT_PAUSE_AT", points.join(",")).stdout(Stdio::null());
        Self(command.spawn().expect("the child starts")).when_it_stands_still()
    }

    /// Lets it go on until it stands still again; none if it ended without.
    pub fn go_on_to_the_next(self) -> Option<Self> {
        self.wake();
        self.when_it_stands_still()
    }

    /// Lets it go on, and returns how it ended.
    pub fn go_on(mut self) -> ExitStatus {
        self.wake();
        self.0.wait().expect("it ends")
    }

    fn when_it_stands_still(self) -> Option<Self> {
        let (_, status) = waitpid(Some(Pid::from_child(&self.0)), WaitOptions::UNTRACED)
            .expect("a child can be waited for")
            .expect("it has come to something");
        assert!(status.stopped() || status.exit_status() == Some(0), "{status:?}");
        status.stopped().then_some(self)
    }

    fn wake(&self) {
        kill_process(Pid::from_child(&self.0), Signal::CONT).expect("it goes on");
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
