//! The eight statuses and the table of allowed moves.

use std::fmt;

/// Where a task stands; also the name of the folder its file lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Written down, not yet to be worked on.
    Backlog,
    /// May be given out.
    Ready,
    /// Somebody works on it.
    InProgress,
    /// Cannot go on until something outside happens.
    Blocked,
    /// Waits for somebody to look at it.
    Review,
    /// Finished.
    Done,
    /// Given up on purpose.
    Cancelled,
    /// Given up after too many attempts.
    Deadletter,
}

use Status::{Backlog, Blocked, Cancelled, Deadletter, Done, InProgress, Ready, Review};

impl Status {
    /// Every status, in the order of the life of a task.
    pub const ALL: [Self; 8] =
        [Backlog, Ready, InProgress, Blocked, Review, Done, Cancelled, Deadletter];

    /// Returns the statuses a task may move to from here.
    pub const fn moves(self) -> &'static [Self] {
        match self {
            Backlog => &[Ready, Blocked, Cancelled],
            Ready => &[InProgress, Backlog, Blocked, Deadletter, Cancelled],
            InProgress => &[Review, Ready, Blocked, Deadletter, Cancelled],
            Blocked => &[Ready, Review, Backlog, Deadletter, Cancelled],
            Review => &[Done, Ready, InProgress, Blocked, Cancelled],
            Deadletter => &[Ready, Cancelled],
            Done | Cancelled => &[],
        }
    }

    /// Says whether the table allows the move from here to `to`.
    pub fn may_move_to(self, to: Self) -> bool {
        self.moves().contains(&to)
    }

    /// Says whether a task here is finished for good.
    pub fn is_closed(self) -> bool {
        matches!(self, Done | Cancelled)
    }

    /// Returns the status as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Backlog => "backlog",
            Ready => "ready",
            InProgress => "in-progress",
            Blocked => "blocked",
            Review => "review",
            Done => "done",
            Cancelled => "cancelled",
            Deadletter => "deadletter",
        }
    }

    /// Parses a status as it is written.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_moves_is_the_specified_one() {
        let rows: Vec<String> = Status::ALL
            .into_iter()
            .map(|from| {
                let to: Vec<&str> = from.moves().iter().map(|to| to.as_str()).collect();
                format!("{from} -> {}", to.join(" "))
            })
            .collect();
        assert_eq!(
            rows,
            [
                "backlog -> ready blocked cancelled",
                "ready -> in-progress backlog blocked deadletter cancelled",
                "in-progress -> review ready blocked deadletter cancelled",
                "blocked -> ready review backlog deadletter cancelled",
                "review -> done ready in-progress blocked cancelled",
                "done -> ",
                "cancelled -> ",
                "deadletter -> ready cancelled",
            ]
        );
    }

    #[test]
    fn every_status_reads_back() {
        for status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()), Some(status));
        }
        assert_eq!(Status::parse("In-Progress"), None);
    }
}
