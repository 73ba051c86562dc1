//! The origin of a task: the document or story it was made from, in the words of its dialect.
//!
//! The origin is stored under the task's `metadata`, which any program may write: an invalid value
//! counts as absent.

use std::fmt::Write as _;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::constraints::RunConstraints;
use crate::delegation::{ExternalTaskId, NewTaskDocument};
use crate::mission::{EpicId, MissionId, MissionOrder, PrdId};
use crate::story::{StoryId, StoryPosition};
use crate::task_id::TaskId;

/// The document or story that a task was made from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskOrigin {
    /// The content of `metadata.mission`.
    pub mission: Option<MissionNote>,
    /// The content of `metadata.delegation`.
    pub delegation: Option<DelegationNote>,
    /// The content of `metadata.story`, if the task is a story.
    pub story: Option<StoryPosition>,
}

/// The content of `metadata.mission`: its ids, and the whole document if it is a valid mission.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
pub struct MissionNote {
    pub task_id: Option<MissionId>,
    pub epic_id: Option<EpicId>,
    pub prd_id: Option<PrdId>,
    pub document: Option<MissionOrder>,
}

/// The content of `metadata.delegation`: its id, and the whole document if it
/// is a valid `new_task`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
pub struct DelegationNote {
    pub task_id: Option<ExternalTaskId>,
    pub document: Option<NewTaskDocument>,
}

impl TaskOrigin {
    pub fn of_mission(mission: &MissionOrder) -> Self {
        let note = MissionNote {
            task_id: Some(mission.task_id.clone()),
            epic_id: Some(mission.epic_id.clone()),
            prd_id: Some(mission.prd_id.clone()),
            document: Some(mission.clone()),
        };
        Self { mission: Some(note), ..Self::default() }
    }

    pub fn of_new_task(task: &NewTaskDocument) -> Self {
        let note =
            DelegationNote { task_id: Some(task.task_id.clone()), document: Some(task.clone()) };
        Self { delegation: Some(note), ..Self::default() }
    }

    /// Reads the origin from the fields of a task's metadata; `None` if none of them has one.
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
            story: story.and_then(|value| StoryPosition::deserialize(value).ok()),
        };
        (read != Self::default()).then_some(read)
    }

    /// Returns the ids by which other systems know the task.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let mission = self.mission.as_ref().and_then(|note| note.task_id.as_ref());
        let delegation = self.delegation.as_ref().and_then(|note| note.task_id.as_ref());
        let story = self.story.as_ref().map(|position| &position.story);
        let documents = mission
            .map(MissionId::as_str)
            .into_iter()
            .chain(delegation.map(ExternalTaskId::as_str));
        documents.chain(story.map(StoryId::as_str))
    }

    pub fn of_story(position: StoryPosition) -> Self {
        Self { story: Some(position), ..Self::default() }
    }

    pub fn epic(&self) -> Option<&EpicId> {
        self.mission.as_ref()?.epic_id.as_ref()
    }

    pub fn mission(&self) -> Option<&MissionOrder> {
        self.mission.as_ref()?.document.as_ref()
    }

    pub fn new_task(&self) -> Option<&NewTaskDocument> {
        self.delegation.as_ref()?.document.as_ref()
    }

    /// Returns the constraints that runs of the task must keep.
    pub fn constraints(&self) -> Option<&RunConstraints> {
        self.mission()?.constraints.as_ref()
    }

    /// Returns the paths that must exist when the work is done.
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
            document: MissionOrder::parse(object).ok().map(|(mission, _)| mission),
        }
    }

    /// Returns the content of `metadata.mission`.
    pub fn object(&self) -> Map<String, Value> {
        if let Some(mission) = &self.document {
            return mission.to_map();
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
            task_id: id.and_then(|id| ExternalTaskId::parse(id).ok()),
            document: NewTaskDocument::parse(object).ok().map(|(task, _)| task),
        }
    }

    /// Returns the content of `metadata.delegation`.
    pub fn object(&self) -> Map<String, Value> {
        match (&self.document, &self.task_id) {
            (Some(task), _) => task.to_map(),
            (None, Some(id)) => Map::from_iter([("taskId".to_owned(), id.as_str().into())]),
            (None, None) => Map::new(),
        }
    }
}

impl Serialize for MissionNote {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.object().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MissionNote {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(|object| Self::read(&object))
    }
}

impl Serialize for DelegationNote {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.object().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DelegationNote {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(|object| Self::read(&object))
    }
}

/// How many digits encode one character of a random suffix.
const DIGITS: usize = 3;

/// Returns a mission id for a task that was not made from a mission: `T`, its day and its number.
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

/// Returns the tasks that an id from [`mission_id`] can stand for, the likeliest first.
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
    fn mission_id_leads_back_to_its_task() {
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
