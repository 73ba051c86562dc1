//! The eight statuses of a task, and the table of moves between them.

use crate::text_value::word_enum;

word_enum! {
    /// The status of a task, which is also the name of the folder with its file.
    #[strum(serialize_all = "kebab-case")]
    pub enum Status {
        /// Recorded, but must not be worked on yet.
        Backlog,
        /// Can be assigned to an agent.
        Ready,
        /// An agent or a person works on it.
        InProgress,
        /// Cannot continue until an obstacle is removed or a question is answered.
        Blocked,
        /// Waits for a reviewer's decision.
        Review,
        Done,
        /// Given up by an operator.
        Cancelled,
        /// Given up after too many failed attempts.
        Deadletter,
    }
}

impl Status {
    /// Returns the statuses that a task can move to from this one.
    pub const fn moves(self) -> &'static [Self] {
        use Status::{Backlog, Blocked, Cancelled, Deadletter, Done, InProgress, Ready, Review};
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

    pub fn may_move_to(self, to: Self) -> bool {
        self.moves().contains(&to)
    }

    /// Returns whether a task with this status is finished for good.
    pub fn is_closed(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_moves_match_specification() {
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
    fn status_round_trips_as_text() {
        for status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()), Some(status));
        }
        assert_eq!(Status::parse("In-Progress"), None);
    }
}
