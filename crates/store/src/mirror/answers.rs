//! What was answered to whoever asked for something, as far as the commits tell.

use std::collections::{BTreeSet, VecDeque};

use serde::Deserialize;

/// How many answers are kept that nobody has come for.
const KEPT_MAX: usize = 4096;
/// Of how many questions it is known that they were answered.
const KNOWN_MAX: usize = 16_384;
/// What a sealed commit has in it that answers somebody.
const ANSWERS: &str = "\"answers\":[[";

/// What was answered to whoever asked for something.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// What this node was answered, with what it asked under, until it comes for it.
    kept: VecDeque<(String, String)>,
    known: BTreeSet<String>,
    /// The same, from the oldest on.
    order: VecDeque<String>,
}

/// What of a sealed commit says whom it answers.
#[derive(Deserialize)]
struct Sealed {
    answers: Vec<(String, String)>,
}

impl Answers {
    /// Takes note of what commits of others answer, and keeps what is for this node.
    pub(super) fn hear(&mut self, commits: &[String], node: &str) {
        let to_us = format!("{node}/");
        for commit in commits.iter().filter(|commit| commit.contains(ANSWERS)) {
            let Ok(Sealed { answers }) = serde_json::from_str(commit) else { continue };
            self.note(&answers);
            self.kept.extend(answers.into_iter().filter(|(to, _)| to.starts_with(&to_us)));
            // What nobody came for is not kept for ever.
            while self.kept.len() > KEPT_MAX {
                self.kept.pop_front();
            }
        }
    }

    /// Takes note of what was answered from here.
    pub(super) fn note(&mut self, answers: &[(String, String)]) {
        for (asked, _) in answers {
            if self.known.insert(asked.clone()) {
                self.order.push_back(asked.clone());
            }
        }
        while self.order.len() > KNOWN_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }

    /// Takes out what this node was answered.
    pub(super) fn take(&mut self, asked: &str) -> Option<String> {
        let at = self.kept.iter().position(|(to, _)| to == asked)?;
        self.kept.remove(at).map(|(_, answer)| answer)
    }

    /// Says whether somebody is known to have been answered.
    pub(super) fn has(&self, asked: &str) -> bool {
        self.known.contains(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_questions_are_known_and_not_all_there_ever_were() {
        let mut answers = Answers::default();
        for number in 0..=KNOWN_MAX {
            answers.note(&[(format!("a/{number}"), String::new())]);
        }
        assert!(!answers.has("a/0") && answers.has("a/1"));
        assert_eq!((answers.known.len(), answers.order.len()), (KNOWN_MAX, KNOWN_MAX));
    }

    #[test]
    fn what_is_for_others_is_known_and_not_kept() {
        let commit = r#"{"answers":[["a/1","yes"],["ab/2","no"]]}"#.to_owned();
        let mut answers = Answers::default();
        answers.hear(&[commit], "a");
        assert!(answers.has("a/1") && answers.has("ab/2"));
        assert_eq!((answers.take("a/1").as_deref(), answers.take("ab/2")), (Some("yes"), None));
        assert_eq!(answers.take("a/1"), None, "once");
    }
}
