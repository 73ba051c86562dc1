//! What a task keeps of the document or the story it was made from, in the words of its dialect.
//!
//! It lies under `metadata` of the task, which belongs to everybody: what is not as it should be
//! counts as absent.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::constraints::Constraints;
use crate::delegation::{ForeignId, NewTask};
use crate::id::TaskId;
use crate::mission::{EpicId, Mission, MissionId, PrdId};
use crate::pipeline::{Position, StoryId};

/// What a task keeps of the document it was made from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Foreign {
    /// What `metadata.mission` says.
    pub mission: Option<MissionNote>,
    /// What `metadata.delegation` says.
    pub delegation: Option<DelegationNote>,
    /// What `metadata.story` says: where the story stands that the task is.
    pub story: Option<Position>,
}

/// What `metadata.mission` says: its ids, and all of it if it is a mission.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissionNote {
    /// The id of the mission.
    pub task_id: Option<MissionId>,
    /// The epic the task belongs to.
    pub epic_id: Option<EpicId>,
    /// The document that asks for it.
    pub prd_id: Option<PrdId>,
    /// The whole mission, as it was sent.
    pub document: Option<Mission>,
}

/// What `metadata.delegation` says: its id, and all of it if it is a `new_task`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DelegationNote {
    /// The id of the task.
    pub task_id: Option<ForeignId>,
    /// The whole `new_task`, as it was sent.
    pub document: Option<NewTask>,
}

impl Foreign {
    /// Keeps a mission.
    pub fn of_mission(mission: &Mission) -> Self {
        let note = MissionNote {
            task_id: Some(mission.task_id.clone()),
            epic_id: Some(mission.epic_id.clone()),
            prd_id: Some(mission.prd_id.clone()),
            document: Some(mission.clone()),
        };
        Self { mission: Some(note), ..Self::default() }
    }

    /// Keeps a `new_task`.
    pub fn of_new_task(task: &NewTask) -> Self {
        let note =
            DelegationNote { task_id: Some(task.task_id.clone()), document: Some(task.clone()) };
        Self { delegation: Some(note), ..Self::default() }
    }

    /// Reads what the metadata of a task says; none if it says nothing of the kind.
    pub fn read(
        mission: Option<&Value>,
        delegation: Option<&Value>,
        story: Option<&Value>,
    ) -> Option<Self> {
        let mission = mission.and_then(Value::as_object).map(MissionNote::read);
        let delegation = delegation.and_then(Value::as_object).map(DelegationNote::read);
        let read = Self {
            mission: mission.filter(|note| *note != MissionNote::default()),
            delegation: delegation.filter(|note| *note != DelegationNote::default()),
            story: story.and_then(Position::read),
        };
        (read != Self::default()).then_some(read)
    }

    /// Returns the ids others know the task by.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let mission = self.mission.as_ref().and_then(|note| note.task_id.as_ref());
        let delegation = self.delegation.as_ref().and_then(|note| note.task_id.as_ref());
        let story = self.story.as_ref().map(|position| &position.story);
        let documents =
            mission.map(MissionId::as_str).into_iter().chain(delegation.map(ForeignId::as_str));
        documents.chain(story.map(StoryId::as_str))
    }

    /// Keeps where a story stands.
    pub fn of_story(position: Position) -> Self {
        Self { story: Some(position), ..Self::default() }
    }

    /// Returns the epic the task belongs to.
    pub fn epic(&self) -> Option<&EpicId> {
        self.mission.as_ref()?.epic_id.as_ref()
    }

    /// Returns the mission the task was made from.
    pub fn mission(&self) -> Option<&Mission> {
        self.mission.as_ref()?.document.as_ref()
    }

    /// Returns the `new_task` the task was made from.
    pub fn new_task(&self) -> Option<&NewTask> {
        self.delegation.as_ref()?.document.as_ref()
    }

    /// Returns what a run for the task is not to do.
    pub fn constraints(&self) -> Option<&Constraints> {
        self.mission()?.constraints.as_ref()
    }

    /// Returns what must be there at the end.
    pub fn expected_outputs(&self) -> Vec<&str> {
        let outputs = self.new_task().and_then(|task| task.expected_outputs.as_deref());
        outputs.unwrap_or(&[]).iter().map(|output| output.path.as_str()).collect()
    }
}

impl MissionNote {
    fn read(object: &Map<String, Value>) -> Self {
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        Self {
            task_id: text("task_id").and_then(|text| MissionId::parse(text).ok()),
            epic_id: text("epic_id").and_then(|text| EpicId::parse(text).ok()),
            prd_id: text("prd_id").and_then(|text| PrdId::parse(text).ok()),
            document: Mission::parse(object).ok().map(|(mission, _)| mission),
        }
    }

    /// Returns what the metadata says.
    pub fn object(&self) -> Map<String, Value> {
        if let Some(mission) = &self.document {
            return mission.document();
        }
        let ids = [
            ("task_id", self.task_id.as_ref().map(MissionId::as_str)),
            ("epic_id", self.epic_id.as_ref().map(EpicId::as_str)),
            ("prd_id", self.prd_id.as_ref().map(PrdId::as_str)),
        ];
        ids.into_iter().filter_map(|(name, id)| Some((name.to_owned(), id?.into()))).collect()
    }
}

impl DelegationNote {
    fn read(object: &Map<String, Value>) -> Self {
        let id = object.get("taskId").and_then(Value::as_str);
        Self {
            task_id: id.and_then(|id| ForeignId::parse(id).ok()),
            document: NewTask::parse(object).ok().map(|(task, _)| task),
        }
    }

    /// Returns what the metadata says.
    pub fn object(&self) -> Map<String, Value> {
        match (&self.document, &self.task_id) {
            (Some(task), _) => task.document(),
            (None, Some(id)) => Map::from_iter([("taskId".to_owned(), id.as_str().into())]),
            (None, None) => Map::new(),
        }
    }
}

/// How many digits stand for one character of an id with a random suffix.
const DIGITS: usize = 3;

/// Returns the id a mission has for a task that was made from none: `T`, its day and its number.
pub fn mission_id(task: &TaskId) -> MissionId {
    let day = task.day().replace('-', "");
    let suffix = &task.as_str()["TASK-YYYY-MM-DD-".len()..];
    let digits = if suffix.bytes().all(|byte| byte.is_ascii_digit()) {
        suffix.to_owned()
    } else {
        suffix.bytes().fold(String::new(), |mut digits, byte| {
            let _ = write!(digits, "{byte:0DIGITS$}");
            digits
        })
    };
    MissionId::parse(&format!("T{day}{digits}"))
        .expect("T and digits, no longer than the task's id")
}

/// Returns the tasks an id that [`mission_id`] made may stand for, the likeliest first.
pub fn meant(id: &str) -> Vec<TaskId> {
    let Some(digits) = id.strip_prefix('T').filter(|digits| digits.is_ascii()) else {
        return vec![];
    };
    let Some((day, suffix)) = digits.split_at_checked("YYYYMMDD".len()) else { return vec![] };
    let (year, month, of_month) = (&day[..4], &day[4..6], &day[6..]);
    let task =
        |suffix: &str| TaskId::parse(&format!("TASK-{year}-{month}-{of_month}-{suffix}")).ok();
    let spelt: Option<String> = (suffix.len() == 8 * DIGITS).then(|| {
        let codes = suffix.as_bytes().chunks(DIGITS);
        let code =
            |code: &[u8]| std::str::from_utf8(code).ok().and_then(|code| code.parse::<u8>().ok());
        codes.map(|each| char::from(code(each).unwrap_or(0))).collect()
    });
    task(suffix).into_iter().chain(spelt.and_then(|spelt| task(&spelt))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_made_for_a_mission_leads_back_to_its_task() {
        for id in ["TASK-2026-02-09-057", "TASK-2026-02-09-1000", "TASK-2026-02-09-aB3_x-9z"] {
            let id = TaskId::parse(id).expect("a good id");
            let made = mission_id(&id);
            assert!(meant(made.as_str()).contains(&id), "{made}");
        }
        assert_eq!(
            mission_id(&TaskId::parse("TASK-2026-02-09-057").expect("good")).as_str(),
            "T20260209057"
        );
        for odd in ["T", "T042", "T2026020", "E1", "T2026020ü057"] {
            assert_eq!(meant(odd), [], "{odd}");
        }
    }
}
