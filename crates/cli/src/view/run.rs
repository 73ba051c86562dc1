//! The runs of a task that were started here, as their folders tell.

use adjutant_core::{AgentId, TaskId};
use adjutant_runtime::shim::files::{Ended, Folder, Record};
use adjutant_runtime::supervisor::{Life, life};
use serde_json::{Value, json};

use crate::data::Data;

/// A run that was started here.
pub(crate) struct Run {
    pub(crate) attempt: u32,
    pub(crate) fence: u64,
    record: Record,
    ended: Option<Ended>,
    life: Life,
}

/// Returns the runs of a task that were started here, the first one first.
pub(crate) fn all(data: &Data, id: &TaskId) -> Vec<Run> {
    let attempts = data.folder.root().join("runs").join(id.as_str()).join("attempts");
    let entries = std::fs::read_dir(&attempts).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers
        .into_iter()
        .filter_map(|n| Run::read(&Folder::at(&attempts.join(n.to_string()))))
        .collect()
}

impl Run {
    fn read(folder: &Folder) -> Option<Self> {
        let record = folder.record().ok().flatten()?;
        let ended = folder.exit().ok().flatten();
        let life = life(folder).unwrap_or(Life::Unknown);
        Some(Self { attempt: record.attempt, fence: record.fence, record, ended, life })
    }

    /// Returns who it is.
    pub(crate) fn agent(&self) -> Option<AgentId> {
        AgentId::parse(&self.record.agent).ok()
    }

    pub(crate) fn json(&self) -> Value {
        let state = match self.life {
            Life::Alive => "running",
            Life::Over => "over",
            Life::Gone | Life::Unknown => "lost",
        };
        json!({
            "attempt": self.attempt,
            "agent": self.record.agent,
            "fence": self.fence,
            "state": state,
            "startedAt": self.record.started_at,
            "endedAt": self.ended.as_ref().map(|ended| &ended.ended_at),
            "exit": self.ended.as_ref().map(|ended| &ended.exit),
            "tail": self.ended.as_ref().map(|ended| &ended.tail),
        })
    }
}
