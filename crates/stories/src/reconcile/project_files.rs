//! The files of a project on this machine: workspaces of runs and stories.

use std::path::PathBuf;

use adjutant_engine::request_inspector::{InspectionPlan, ProjectFiles};
use adjutant_engine::story_requests::StoryTask;
use adjutant_git::workspace::{self, WorkspaceBaseline, WorkspaceChanges};
use adjutant_model::constraints::WorkspaceFacts;
use adjutant_model::request::StoryFacts;
use adjutant_model::{Command, NodeId};
use adjutant_process::clock::SystemClock;

use super::board_decision::apply_decision;
use crate::driver::StoryProject;

/// A project on this machine.
#[derive(Debug, Clone)]
pub struct LocalProjectFiles {
    /// The folder that contains the data folder.
    home: PathBuf,
    /// The name of this node, in a fleet.
    node: Option<NodeId>,
}

impl LocalProjectFiles {
    pub fn new(home: PathBuf, node: Option<NodeId>) -> Self {
        Self { home, node }
    }
}

impl ProjectFiles for LocalProjectFiles {
    fn inspect_workspace(&self, plan: &InspectionPlan) -> WorkspaceFacts {
        let baseline = WorkspaceBaseline::load(&plan.attempt);
        let workspace_path =
            baseline.map_or_else(|_| self.home.clone(), |baseline| baseline.workspace());
        let missing = plan.outputs.iter().filter(|path| {
            !workspace::exists_inside(&workspace_path, path)
                && !workspace::exists_inside(&plan.companion, path)
        });
        let outputs_missing = missing.cloned().collect();
        if !plan.checks_constraints {
            return WorkspaceFacts { outputs_missing, ..WorkspaceFacts::default() };
        }
        match workspace::compare_baseline(&plan.attempt) {
            Ok(changes) => WorkspaceFacts { outputs_missing, ..workspace_facts(&changes) },
            Err(error) => WorkspaceFacts {
                outputs_missing,
                unverified_reason: Some(error.to_string()),
                ..WorkspaceFacts::default()
            },
        }
    }

    fn story_facts(&self) -> Vec<StoryFacts> {
        if !self.home.join(".ai").is_dir() {
            return vec![];
        }
        let facts = StoryProject::at(&self.home, &SystemClock)
            .and_then(|project| Ok(project.facts(&project.read_stories()?, self.node.as_ref())));
        // The commands that people call report errors in the files.
        facts.unwrap_or_default()
    }

    fn apply_story_decision(&self, task: &StoryTask, command: &Command) -> bool {
        apply_decision(&self.home, task, command).unwrap_or(false)
    }
}

fn workspace_facts(changes: &WorkspaceChanges) -> WorkspaceFacts {
    WorkspaceFacts {
        files_changed: changes.changed.iter().map(|changed| changed.path.clone()).collect(),
        commits: changes.commits,
        manifests_changed: changes.manifests().map(str::to_owned).collect(),
        ..WorkspaceFacts::default()
    }
}
