//! Tasks that are added while nodes may fail: some were confirmed, and of others the answer was
//! lost.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Child;

use serde_json::Value;

use crate::fleet::node::Node;

#[derive(Default)]
pub(crate) struct TaskRequests {
    /// The title of every request; all are different.
    titles: BTreeSet<String>,
    /// The commands that have not ended.
    open: Vec<(String, Child)>,
    /// The titles of the confirmed tasks, by id.
    promised: BTreeMap<String, String>,
}

impl TaskRequests {
    /// Adds a task through a node, and does not wait for the answer.
    pub(crate) fn ask(&mut self, node: &Node) {
        let title = format!("task {}", self.titles.len() + 1);
        let asks = ["task", "add", &title, "--status", "ready", "--agent", "swe", "--json"];
        self.open.push((title.clone(), node.begins(&asks)));
        self.titles.insert(title);
    }

    /// Collects the answers of commands that have ended.
    pub(crate) fn hear(&mut self) {
        for (title, mut child) in std::mem::take(&mut self.open) {
            match child.try_wait().expect("its child") {
                None => self.open.push((title, child)),
                Some(ended) if ended.success() => {
                    let said = child.wait_with_output().expect("it has ended").stdout;
                    let task: Value = serde_json::from_slice(&said).expect("a task");
                    let id = task["id"].as_str().expect("an id").to_owned();
                    let twice = self.promised.insert(id, title);
                    assert_eq!(twice, None, "two tasks with one id");
                }
                Some(_) => {}
            }
        }
    }

    /// Returns how many requests have no answer yet.
    pub(crate) fn open(&self) -> usize {
        self.open.len()
    }

    /// Returns how many tasks were confirmed.
    pub(crate) fn promised(&self) -> usize {
        self.promised.len()
    }

    /// Asserts that every confirmed task exists, and none twice. Returns all tasks, including those
    /// whose answer was lost.
    pub(crate) fn are_kept(&self, events: &[Value]) -> Vec<String> {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let made: Vec<(String, String)> = events
            .iter()
            .filter(|event| event["type"] == "task.created")
            .map(|event| (text(&event["taskId"]), text(&event["payload"]["task"]["title"])))
            .collect();
        let ids: BTreeMap<&String, &String> = made.iter().map(|(id, title)| (id, title)).collect();
        for (id, title) in &self.promised {
            assert_eq!(ids.get(id), Some(&title), "what was promised is there");
        }
        let titles: BTreeSet<&String> = made.iter().map(|(_, title)| title).collect();
        assert_eq!((ids.len(), titles.len()), (made.len(), made.len()), "nothing is there twice");
        assert!(titles.into_iter().all(|title| self.titles.contains(title)), "nobody else asked");
        made.into_iter().map(|(id, _)| id).collect()
    }
}
