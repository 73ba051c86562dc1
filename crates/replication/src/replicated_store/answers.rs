//! The answers to requests, as found in the commits.

use std::collections::{BTreeSet, VecDeque};

use serde::Deserialize;

/// The most answers that are kept until this node takes them.
const KEPT_MAX: usize = 4096;
/// The most request keys that are remembered as answered.
const KNOWN_MAX: usize = 16_384;
/// The text by which a sealed commit with answers is recognised, without parsing it.
const ANSWERS: &str = "\"answers\":[[";

#[derive(Debug, Default)]
pub(super) struct AnswerCache {
    /// Answers to requests of this node, with their request keys, until they are taken.
    untaken: VecDeque<(String, String)>,
    answered_keys: BTreeSet<String>,
    /// The answered keys, oldest first.
    answered_order: VecDeque<String>,
}

/// The part of a sealed commit that holds its answers.
#[derive(Deserialize)]
struct SealedAnswers {
    answers: Vec<(String, String)>,
}

impl AnswerCache {
    /// Records the answers in the commits of other nodes, and keeps those for this node.
    pub(super) fn record_commits(&mut self, commits: &[String], node: &str) {
        let to_us = format!("{node}/");
        for commit in commits.iter().filter(|commit| commit.contains(ANSWERS)) {
            let Ok(SealedAnswers { answers }) = serde_json::from_str(commit) else { continue };
            self.record_answered(&answers);
            self.untaken.extend(answers.into_iter().filter(|(to, _)| to.starts_with(&to_us)));
            // Bounds memory: an answer may never be taken.
            while self.untaken.len() > KEPT_MAX {
                self.untaken.pop_front();
            }
        }
    }

    /// Remembers which requests were answered.
    pub(super) fn record_answered(&mut self, answers: &[(String, String)]) {
        for (asked, _) in answers {
            if self.answered_keys.insert(asked.clone()) {
                self.answered_order.push_back(asked.clone());
            }
        }
        while self.answered_order.len() > KNOWN_MAX {
            if let Some(oldest) = self.answered_order.pop_front() {
                self.answered_keys.remove(&oldest);
            }
        }
    }

    /// Removes and returns the answer to a request of this node.
    pub(super) fn take(&mut self, asked: &str) -> Option<String> {
        let at = self.untaken.iter().position(|(to, _)| to == asked)?;
        self.untaken.remove(at).map(|(_, answer)| answer)
    }

    /// Returns whether a request is known to be answered.
    pub(super) fn is_answered(&self, asked: &str) -> bool {
        self.answered_keys.contains(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_forget_the_oldest_request_keys() {
        let mut answers = AnswerCache::default();
        for number in 0..=KNOWN_MAX {
            answers.record_answered(&[(format!("a/{number}"), String::new())]);
        }
        assert!(!answers.is_answered("a/0") && answers.is_answered("a/1"));
        assert_eq!(
            (answers.answered_keys.len(), answers.answered_order.len()),
            (KNOWN_MAX, KNOWN_MAX)
        );
    }

    #[test]
    fn answers_for_other_nodes_are_known_but_not_kept() {
        let commit = r#"{"answers":[["a/1","yes"],["ab/2","no"]]}"#.to_owned();
        let mut answers = AnswerCache::default();
        answers.record_commits(&[commit], "a");
        assert!(answers.is_answered("a/1") && answers.is_answered("ab/2"));
        assert_eq!((answers.take("a/1").as_deref(), answers.take("ab/2")), (Some("yes"), None));
        assert_eq!(answers.take("a/1"), None, "once");
    }
}
