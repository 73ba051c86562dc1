//! Looks for the proof of a step: its documents, its commit, or its changes of the memory.

use adjutant_core::story::judge::StepProof;
use adjutant_core::story::{StepRule, StoryState};
use adjutant_model::story::Step;
use adjutant_store::hash::ShortHash;
use serde_json::{Map, Value, json};

use super::changes;
use super::project::StoryProject;
use crate::files::{FOLDER, StateFile};

/// The field of the fingerprints that has the documents before the executor was started.
const DOCUMENTS: &str = "documents";

/// The longest document that is read for its fingerprint.
const DOCUMENT_BYTES_MAX: u64 = 64 << 20;

impl StoryProject<'_> {
    pub(super) fn step_proof(&self, rule: &StepRule, file: &StateFile) -> StepProof {
        let missing = match file.state.step {
            Step::Bdd | Step::SddDelta | Step::Contract => self.missing_document(rule, file),
            Step::Commit => self.missing_commit(file),
            Step::UpdateMemory => self.unchanged_memory(rule, file),
            Step::Bootstrap
            | Step::Review
            | Step::Scaffold
            | Step::Impl
            | Step::Verify
            | Step::Custom
            | Step::Done => None,
        };
        missing.map_or(StepProof::Given, StepProof::Missing)
    }

    /// Returns the documents that the rule of a step names, without patterns and without the files
    /// of the pipeline itself.
    fn documents(rule: &StepRule, state: &StoryState) -> Vec<String> {
        let fill = |path: &String| match &state.story {
            Some(story) => story.fill_path(path),
            None => path.clone(),
        };
        let is_document = |path: &String| {
            !path.contains(['*', '?', '[', '{']) && !path.starts_with(&format!("{FOLDER}/"))
        };
        rule.claude_writes.iter().map(fill).filter(is_document).collect()
    }

    fn missing_document(&self, rule: &StepRule, file: &StateFile) -> Option<String> {
        let root = self.folder().root();
        let is_missing = |path: &String| {
            !std::fs::metadata(root.join(path))
                .is_ok_and(|found| found.is_file() && found.len() > 0)
        };
        let mut missing = Self::documents(rule, &file.state);
        missing.retain(is_missing);
        let step = file.state.step;
        (!missing.is_empty()).then(|| format!("{step} left no {}", missing.join(", ")))
    }

    /// Looks for a commit of the story since it began, which has more than files of the pipeline.
    fn missing_commit(&self, file: &StateFile) -> Option<String> {
        let root = self.folder().root();
        if !changes::is_repository(root) {
            return None;
        }
        let Some(head) = changes::current_commit(root) else {
            return Some("there is no commit in the repository".to_owned());
        };
        let base = file.base_commit()?;
        let committed = changes::committed_since(root, base, &head);
        let is_work = |path: &String| {
            !path.starts_with(".ai/")
                && !path.starts_with(".adjutant/")
                && path != "PROJECT_MEMORY.md"
        };
        match committed {
            Some(files) if files.iter().any(is_work) => None,
            Some(_) => Some(format!("no commit since {base} has a file of the story")),
            // The history was rewritten; a person sees that in the changes.
            None => None,
        }
    }

    fn unchanged_memory(&self, rule: &StepRule, file: &StateFile) -> Option<String> {
        let before = file.documents_before()?;
        let documents = Self::documents(rule, &file.state);
        let is_unchanged = |path: &String| before.get(path) == Some(&self.fingerprint(path));
        let is_proved = documents.is_empty() || !documents.iter().all(is_unchanged);
        (!is_proved).then(|| format!("update-memory left {} unchanged", documents.join(", ")))
    }

    /// Returns the fingerprints of the documents of a step, for the time after its executor.
    pub(super) fn document_fingerprints(&self, state: &StoryState) -> Value {
        let rule = self.rules().get(state.step);
        let documents = rule.map(|rule| Self::documents(rule, state)).unwrap_or_default();
        let prints = documents.into_iter().map(|path| (path.clone(), self.fingerprint(&path)));
        Value::Object(prints.collect::<Map<_, _>>())
    }

    fn fingerprint(&self, path: &str) -> Value {
        let path = self.folder().root().join(path);
        let is_readable =
            |found: std::fs::Metadata| found.is_file() && found.len() <= DOCUMENT_BYTES_MAX;
        if !std::fs::metadata(&path).is_ok_and(is_readable) {
            return Value::Null;
        }
        let bytes = std::fs::read(&path).ok();
        json!(bytes.map(|bytes| ShortHash::digest(&bytes).to_string()))
    }
}

impl StateFile {
    fn documents_before(&self) -> Option<&Map<String, Value>> {
        self.extra(crate::files::own_fields::FINGERPRINTS)?.get(DOCUMENTS)?.as_object()
    }

    /// Adds the fingerprints of the documents to those of the hand-over files.
    pub(super) fn set_documents_before(&mut self, documents: Value) {
        let name = crate::files::own_fields::FINGERPRINTS;
        let mut prints = self.extra(name).cloned().unwrap_or_else(|| json!({}));
        prints[DOCUMENTS] = documents;
        self.set_extra(name, prints);
    }
}
