//! What happens, for those who look after machines: how bad an event is, and the record as OTLP.

mod otlp;

#[cfg(test)]
mod golden_tests;

use adjutant_core::Event;

pub use otlp::Exporter;

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It happens all the time.
    Debug,
    /// It happened.
    Info,
    /// A person should look at it.
    Warn,
}

impl Level {
    /// Says how bad an event is.
    pub fn of(event: &Event) -> Self {
        match event {
            Event::RunHeartbeat { .. } | Event::RequestKept { .. } | Event::TaskLogged { .. } => {
                Self::Debug
            }
            Event::MessageRejected { .. }
            | Event::MessageUnknown { .. }
            | Event::MessageWarned { .. }
            | Event::DelegationRejected { .. }
            | Event::RunFailed { .. }
            | Event::RunParked { .. }
            | Event::RunDeferred { .. }
            | Event::RunSalvaged { .. }
            | Event::MergeWaiting { .. }
            | Event::MergeRefused { .. }
            | Event::DispatchRefused { .. }
            | Event::CommandRefused { .. }
            | Event::AccessRefused { .. }
            | Event::NotifyFailed { .. } => Self::Warn,
            _ => Self::Info,
        }
    }
}
