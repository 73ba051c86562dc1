//! `adjutant inbox`: everything that waits for a person.

mod late;
mod story;

use std::process::ExitCode;

use adjutant_core::schedule::{self, Item, Kind};
use adjutant_core::{Command, Task, TaskId, World};
use adjutant_runtime::{Clock, SystemClock};
use serde_json::{Value, json};

use super::task::change;
use crate::data::Data;
use crate::error::Failure;
use crate::output::{Colour, Output, clean};

/// Show everything that waits for a person: reviews, questions, what was given up or came too late
#[derive(Debug, clap::Args)]
pub(crate) struct Inbox {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Apply(Apply),
}

/// Let a report count that came too late
#[derive(Debug, clap::Args)]
struct Apply {
    /// The task
    id: String,
    /// The report, as the inbox names it
    name: String,
}

impl Inbox {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        match self.what {
            Some(What::Apply(apply)) => apply.run(data, out),
            None => show(data, out),
        }
    }
}

impl Apply {
    fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = data.task_id(&self.id)?;
        let attempt = format!("cannot apply {} to {id}", self.name);
        change(data, out, &attempt, Command::ApplySalvage { id, name: self.name, text: None })
    }
}

/// What waits for a person and is not in the world: it is read before anybody looks at that.
pub(crate) struct Aside {
    late: Vec<(TaskId, String, Option<String>)>,
    stories: Vec<story::Waiting>,
}

/// Something that waits for a person, and where it stands if it is a story.
struct Entry<'a> {
    item: Item,
    story: Option<&'a story::Waiting>,
}

impl Aside {
    /// Reads the reports that came too late, and the stories that wait for a person.
    pub(crate) fn read(data: &Data, out: &Output) -> Result<Self, Failure> {
        Ok(Self::with(data, data.salvaged()?, &|text| data.known_id(text), out))
    }

    /// Reads what is said by these reports, and the stories that wait for a person; `find` says
    /// which task one is.
    pub(crate) fn with(
        data: &Data,
        salvaged: Vec<(TaskId, String)>,
        find: &dyn Fn(&str) -> Option<TaskId>,
        out: &Output,
    ) -> Self {
        let said = |(task, name): (TaskId, String)| {
            let said = late::said(data.folder.root(), &task, &name);
            (task, name, said)
        };
        let stories = story::waiting(&data.folder.workspace(), out).into_iter();
        let stories = stories.map(|story| story.with_output(data, find)).collect();
        Self { late: salvaged.into_iter().map(said).collect(), stories }
    }

    /// Returns the tasks that wait for a person, and what is to be done about each. A story is one
    /// of them.
    fn entries(&self, world: &World) -> Vec<Entry<'_>> {
        let mut items = schedule::inbox(world, SystemClock.now());
        items.extend(
            self.late
                .iter()
                .map(|(task, name, said)| schedule::salvage(world, task, name, said.as_deref())),
        );
        let of = |item: &Item| world.task(&item.task).and_then(Task::story);
        let entry = |item: Item| {
            let own = of(&item).map(|position| position.story.clone());
            let story = self.stories.iter().find(|waiting| Some(&waiting.story) == own.as_ref());
            Entry { item, story }
        };
        items.into_iter().map(entry).collect()
    }

    /// Returns the stories that the board does not show yet.
    fn others(&self, entries: &[Entry<'_>]) -> Vec<&story::Waiting> {
        let shown = |story: &&story::Waiting| {
            entries.iter().any(|entry| entry.story.is_some_and(|it| it.story == story.story))
        };
        self.stories.iter().filter(|story| !shown(story)).collect()
    }

    /// Returns everything that waits for a person, as JSON.
    pub(crate) fn document(&self, world: &World) -> Value {
        Value::Array(self.part(world, 0, usize::MAX).0)
    }

    /// Returns some of what waits for a person, as JSON, and how much waits.
    pub(crate) fn part(&self, world: &World, from: usize, most: usize) -> (Vec<Value>, usize) {
        let entries = self.entries(world);
        let others = self.others(&entries);
        let all = entries.len() + others.len();
        let first = entries.iter().skip(from).take(most).map(Entry::json);
        let mut some: Vec<Value> = first.collect();
        let before = from.saturating_sub(entries.len());
        let room = most - some.len();
        some.extend(others.iter().skip(before).take(room).map(|story| story.json()));
        (some, all)
    }
}

fn show(data: &Data, out: &Output) -> Result<ExitCode, Failure> {
    let world = data.world(out)?;
    let aside = Aside::read(data, out)?;
    if out.is_json() {
        out.document(&aside.document(&world))?;
        return Ok(ExitCode::SUCCESS);
    }
    let entries = aside.entries(&world);
    let stories = aside.others(&entries);
    if entries.is_empty() && stories.is_empty() {
        out.line("nothing waits for you")?;
    }
    for entry in &entries {
        let item = &entry.item;
        let kind = out.paint(colour(item.kind), item.kind.as_str());
        out.line(&format!("{} {kind}  {}", item.task, clean(&entry.text())))?;
        for line in entry.story.map(story::Waiting::details).unwrap_or_default() {
            out.line(&out.paint(Colour::Dim, &format!("    {}", clean(&line))))?;
        }
        for action in &item.actions {
            out.line(&out.paint(Colour::Dim, &format!("    adjutant {action}")))?;
        }
    }
    for waiting in &stories {
        let kind = out.paint(Colour::Blue, "story");
        out.line(&format!("{} {kind}  {}", waiting.story, clean(&waiting.text)))?;
        for action in &waiting.actions {
            out.line(&out.paint(Colour::Dim, &format!("    adjutant {action}")))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Entry<'_> {
    fn text(&self) -> String {
        let stat = self.story.and_then(story::Waiting::stat);
        let stat = stat.map_or_else(String::new, |stat| format!(" ({stat})"));
        format!("{}{stat}", self.item.text)
    }

    fn json(&self) -> Value {
        let item = &self.item;
        let mut json = json!({
            "kind": item.kind.as_str(),
            "taskId": item.task.as_str(),
            "since": item.since.map(|since| since.to_string()),
            "text": self.text(),
            "actions": item.actions,
        });
        if let Some(story) = &self.story {
            story.add_to(&mut json);
        }
        json
    }
}

fn colour(kind: Kind) -> Colour {
    match kind {
        Kind::Review => Colour::Blue,
        Kind::Question
        | Kind::Permission
        | Kind::Blocked
        | Kind::HeldBack
        | Kind::Unusable
        | Kind::Budget
        | Kind::Salvage => Colour::Yellow,
        Kind::Deadletter | Kind::Unreadable => Colour::Red,
    }
}
