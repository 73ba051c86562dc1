//! The inbox: everything that needs a person, of tasks and of stories.

mod action;
mod lost_file;
mod report_summary;
mod waiting_story;

use std::path::Path;

use adjutant_core::World;
use adjutant_core::schedule::{self, AttentionItem, AttentionKind, InboxAction};
use adjutant_model::{Task, TaskId, Time};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_store::file::DataFolder;
use serde::Serialize;
use serde::ser::Serializer;

use crate::unaccepted_stories::UnacceptedStories;

pub use action::OfferedAction;
pub use waiting_story::WaitingStory;

/// One thing that needs a person.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InboxItem {
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub kind: InboxKind,
    /// The id of the task, or of a story whose task is not in the inbox; null
    /// for the configuration.
    pub task_id: Option<String>,
    /// Since when it waits; null if that is not known.
    pub since: Option<Time>,
    pub text: String,
    /// The commands that settle it, without `adjutant`.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub actions: Vec<OfferedAction>,
    #[serde(flatten)]
    pub story: Option<WaitingStory>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxKind {
    Task(AttentionKind),
    /// A story whose task does not wait yet.
    Story,
    /// The file of the configuration cannot be used.
    Config,
    /// The files of stories would run what the operator has not accepted.
    StoryConfig,
    /// A file that was in the way, or whose text could not be kept in its place.
    LostFile,
}

impl InboxKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Task(kind) => kind.as_str(),
            Self::Story => "story",
            Self::Config | Self::StoryConfig => "config",
            Self::LostFile => "lost_file",
        }
    }
}

impl Serialize for InboxKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The inbox items that are not in the world: late reports and stories. They are
/// read before the world.
pub struct InboxExtras {
    late: Vec<LateReport>,
    stories: Vec<WaitingStory>,
    /// The item of stories that the operator has not accepted.
    unaccepted: Option<InboxItem>,
    /// The items of files in `lost+found`.
    lost: Vec<InboxItem>,
}

struct LateReport {
    task: TaskId,
    name: String,
    /// `None` if the report has no outcome or cannot be read.
    summary: Option<String>,
}

impl InboxExtras {
    /// Reads the contents of late reports, and the stories that wait for a person. `find` resolves
    /// the task of a story.
    pub fn read(
        folder: &DataFolder,
        late: Vec<(TaskId, String)>,
        find: &dyn Fn(&str) -> Option<TaskId>,
        warn: &dyn Fn(&str),
    ) -> Self {
        let read = |(task, name): (TaskId, String)| {
            let summary = report_summary::summarize_report(folder.root(), &task, &name);
            LateReport { task, name, summary }
        };
        let stories = waiting_story::find_waiting_stories(&folder.workspace(), warn).into_iter();
        Self {
            late: late.into_iter().map(read).collect(),
            stories: stories.map(|story| story.with_output(folder, find)).collect(),
            unaccepted: unaccepted_stories_item(&folder.workspace()),
            lost: lost_file::lost_file_items(folder.root()),
        }
    }

    /// Returns the whole inbox.
    pub fn items(&self, world: &World) -> Vec<InboxItem> {
        self.page(world, 0, usize::MAX).0
    }

    /// Returns at most `items_max` items from index `from` on, and the number of all items.
    pub fn page(&self, world: &World, from: usize, items_max: usize) -> (Vec<InboxItem>, usize) {
        let late = self.late.iter().map(|report| {
            schedule::salvage_item(world, &report.task, &report.name, report.summary.as_deref())
        });
        let mut tasks: Vec<AttentionItem> =
            schedule::inbox(world, SystemClock.now()).into_iter().chain(late).collect();
        tasks.sort_by_key(|item| item.kind);
        let listed: Vec<Option<&WaitingStory>> =
            tasks.iter().map(|item| self.story_of(world, item)).collect();
        let is_listed = |story: &WaitingStory| {
            listed.iter().flatten().any(|listed| listed.story == story.story)
        };
        let others: Vec<&WaitingStory> =
            self.stories.iter().filter(|story| !is_listed(story)).collect();
        let mut config = config_items(world);
        config.extend(self.unaccepted.clone());
        config.extend(self.lost.iter().cloned());
        let count = config.len() + tasks.len() + others.len();
        let of_tasks = tasks.iter().zip(&listed).map(|(item, story)| task_item(item, *story));
        let of_stories = others.iter().map(|story| story.to_item());
        let all = config.into_iter().chain(of_tasks).chain(of_stories);
        (all.skip(from).take(items_max).collect(), count)
    }

    /// Returns the waiting story of an item's task.
    fn story_of(&self, world: &World, item: &AttentionItem) -> Option<&WaitingStory> {
        let position = world.task(&item.task).and_then(Task::story)?;
        self.stories.iter().find(|waiting| waiting.story == position.story)
    }
}

/// Returns the actions of an item with their commands.
pub fn offered_actions(item: &AttentionItem) -> Vec<OfferedAction> {
    let offer = |action| OfferedAction::new(action, item.task.as_str());
    item.actions.iter().cloned().map(offer).collect()
}

/// Returns the items about the configuration. They come first, because they concern all agents.
pub fn config_items(world: &World) -> Vec<InboxItem> {
    config_item(world).into_iter().chain(unaccepted_config_item(world)).collect()
}

/// Returns the item of an invalid configuration.
fn config_item(world: &World) -> Option<InboxItem> {
    let problem = world.policy().config.problem.as_deref()?;
    let text =
        format!("adjutant.toml cannot be used, and the daemon keeps its settings: {problem}");
    let actions = vec![OfferedAction::new(InboxAction::Diagnose, "")];
    let (kind, task_id, since, story) = (InboxKind::Config, None, None, None);
    Some(InboxItem { kind, task_id, since, text, actions, story })
}

/// Returns the item of a configuration that the operator has not accepted.
fn unaccepted_config_item(world: &World) -> Option<InboxItem> {
    let names: Vec<&str> = world.policy().config.unaccepted.iter().map(|name| &**name).collect();
    if names.is_empty() {
        return None;
    }
    let text = format!(
        "adjutant.toml has settings that are not accepted, and those accepted before stay in \
         effect: {}",
        names.join(", ")
    );
    let actions = vec![OfferedAction::new(InboxAction::AcceptConfig, "")];
    let (kind, task_id, since, story) = (InboxKind::Config, None, None, None);
    Some(InboxItem { kind, task_id, since, text, actions, story })
}

/// Returns the item of stories that would run what the operator has not accepted.
pub fn unaccepted_stories_item(root: &Path) -> Option<InboxItem> {
    let what = UnacceptedStories::find(root)?.in_words();
    let text = format!("the files in .ai/ are not accepted, and agents do no steps: {what}");
    let actions = vec![OfferedAction::new(InboxAction::AcceptConfig, "")];
    let (kind, task_id, since, story) = (InboxKind::StoryConfig, None, None, None);
    Some(InboxItem { kind, task_id, since, text, actions, story })
}

fn task_item(item: &AttentionItem, story: Option<&WaitingStory>) -> InboxItem {
    InboxItem {
        kind: InboxKind::Task(item.kind),
        task_id: Some(item.task.to_string()),
        since: item.since,
        text: story.map_or_else(|| item.text.clone(), |story| story.with_diff_stat(&item.text)),
        actions: offered_actions(item),
        story: story.cloned(),
    }
}
