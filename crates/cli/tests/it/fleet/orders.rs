//! Tasks that are asked for while anything may happen to whoever is asked: which of them were
//! promised, and which nobody knows of.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Child;

use serde_json::Value;

use crate::fleet::node::Node;

/// Tasks that were asked for.
#[derive(Default)]
pub(crate) struct Orders {
    /// The title of every try: no two are alike.
    titles: BTreeSet<String>,
    /// The commands that have not ended.
    open: Vec<(String, Child)>,
    /// The ids that were answered, with their titles.
    promised: BTreeMap<String, String>,
}

impl Orders {
    /// Asks a node for a task, and does not wait for the answer.
    pub(crate) fn ask(&mut self, node: &Node) {
        let title = format!("task {}", self.titles.len() + 1);
        let asks = ["task", "add", &title, "--status", "ready", "--agent", "swe", "--json"];
        self.open.push((title.clone(), node.begins(&asks)));
        self.titles.insert(title);
    }

    /// Takes note of what was answered meanwhile.
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

    /// Returns how many have no answer yet.
    pub(crate) fn open(&self) -> usize {
        self.open.len()
    }

    /// Returns how many were promised.
    pub(crate) fn promised(&self) -> usize {
        self.promised.len()
    }

    /// Says that whatever was promised is there, and nothing twice. Returns every task there is:
    /// one whose answer was lost may be there or not.
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
