//! The state of a git work tree: its dirty and untracked files, and its references.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::byte_path::BytePath;
use super::fingerprint::{ContentFingerprint, ReadBudget};
use super::folder::{changed_files, list_files, read_error, too_many_error};
use super::git::{GitCommand, GitConfigScope, split_nul};
use super::shadow_repository::{RepositoryFolders, ShadowIndex, ShadowRepository};
use super::{ChangeKind, ChangedFile, FILES_MAX, InspectionError};

/// The most new references whose files are compared.
const TIPS_MAX: usize = 100;

/// The state of a repository at the baseline.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RepositoryBaseline {
    /// The path of its work tree relative to the workspace's; empty for the first.
    named: BytePath,
    top: BytePath,
    git_dir: BytePath,
    common_dir: BytePath,
    /// The name of our own git folder for it.
    shadow: String,
    head: Option<String>,
    /// Every commit that a reference pointed to, remote ones included.
    tips: BTreeSet<String>,
    /// The files that differed from the index or were untracked.
    dirty: Vec<(BytePath, ContentFingerprint)>,
    /// The folders that are repositories themselves.
    nested: BTreeSet<BytePath>,
    /// The ignore rules, each with its file.
    rules: BTreeSet<(BytePath, String)>,
}

/// How a work tree differs from its index.
#[derive(Default)]
struct IndexDifferences {
    /// The tracked files that differ.
    differ: BTreeSet<BytePath>,
    /// The untracked files that are not ignored.
    unknown: BTreeSet<BytePath>,
    /// The folders that are repositories themselves.
    nested: BTreeSet<BytePath>,
}

/// Whether a folder belongs to a repository.
pub(super) enum RepositoryLookup {
    /// In no repository, or ignored by the one around it.
    Outside,
    Inside(FoundWorkTree),
}

pub(super) struct FoundWorkTree {
    pub(super) top: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
}

impl RepositoryLookup {
    pub(super) fn find(folder: &Path) -> Result<Self, InspectionError> {
        if !folder.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok()) {
            return Ok(Self::Outside);
        }
        let asked = ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir"];
        let call = GitCommand::new(folder, GitConfigScope::Isolated, &asked)
            .with_args(["--git-common-dir"]);
        let answer = call.run()?;
        if answer.code != Some(0) {
            let alone = answer.stderr.contains("not a git repository");
            return if alone { Ok(Self::Outside) } else { Err(answer.to_error()) };
        }
        let lines: Vec<&[u8]> = answer.output.split(|byte| *byte == b'\n').collect();
        let [top, git_dir, common_dir, b""] = lines[..] else {
            return Err(InspectionError(
                "the path of the repository has a line break in it".to_owned(),
            ));
        };
        let path = |bytes: &[u8]| BytePath::new(bytes).to_path();
        let found =
            FoundWorkTree { top: path(top), git_dir: path(git_dir), common_dir: path(common_dir) };
        let ignored = found.top != folder && is_ignored(&found.top, folder)?;
        Ok(if ignored { Self::Outside } else { Self::Inside(found) })
    }
}

fn is_ignored(top: &Path, folder: &Path) -> Result<bool, InspectionError> {
    let call = GitCommand::new(top, GitConfigScope::Isolated, &["check-ignore", "-q", "--"]);
    let answer = call.with_args([folder]).run()?;
    match answer.code {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => Err(answer.to_error()),
    }
}

impl RepositoryBaseline {
    /// Records the state of a repository. `shadow` is the name of our own git folder for it in
    /// the attempt folder.
    pub(super) fn capture(
        found: FoundWorkTree,
        named: BytePath,
        attempt: &Path,
        shadow: String,
        data: &Path,
    ) -> Result<Self, InspectionError> {
        let FoundWorkTree { top, git_dir, common_dir } = found;
        let mut taken = Self {
            named,
            head: head(&git_dir)?,
            tips: references(&git_dir)?.into_iter().map(|(tip, _)| tip).collect(),
            top: top.into(),
            git_dir: git_dir.into(),
            common_dir: common_dir.into(),
            shadow,
            dirty: vec![],
            nested: BTreeSet::new(),
            rules: BTreeSet::new(),
        };
        let dir = attempt.join(&taken.shadow);
        let differences = ShadowRepository::create(&dir, taken.places()).and_then(|shadow| {
            let opened = shadow.open_index()?;
            Ok((taken.index_differences(&opened, data)?, taken.rules(&opened)?))
        });
        let (IndexDifferences { differ, unknown, nested }, rules) = differences?;
        (taken.nested, taken.rules) = (nested, rules);
        taken.dirty = taken.fingerprints(differ.union(&unknown))?;
        Ok(taken)
    }

    /// Returns the nested repositories: the folder, and its path relative to the workspace.
    pub(super) fn nested(&self) -> impl Iterator<Item = (PathBuf, BytePath)> {
        self.nested.iter().map(|inner| (self.path(inner), inner.join_onto(&self.named)))
    }

    /// Returns what changed in the work tree, and the number of new commits.
    pub(super) fn compare(
        &self,
        attempt: &Path,
        data: &Path,
    ) -> Result<(Vec<ChangedFile>, u32), InspectionError> {
        if !self.top.as_path().is_dir() {
            let changed = ChangedFile { path: self.named.to_display(), how: ChangeKind::Deleted };
            return Ok((vec![changed], 0));
        }
        let dir = attempt.join(&self.shadow);
        let shadow = ShadowRepository::existing(&dir, self.places());
        let opened = shadow.open_index()?;
        let mut changed = changed_files(self.top.as_path(), &self.named, &self.dirty)?;
        changed.extend(self.clean_file_changes(&opened, data)?);
        changed.extend(self.newly_ignored(&opened)?);
        let (commits, files) = self.new_commits(&shadow, data)?;
        let known: BTreeSet<String> = changed.iter().map(|one| one.path.clone()).collect();
        changed.extend(files.into_iter().filter(|one| !known.contains(&one.path)));
        Ok((changed, commits))
    }

    fn places(&self) -> RepositoryFolders<'_> {
        let (top, git_dir) = (self.top.as_path(), self.git_dir.as_path());
        RepositoryFolders { top, git_dir, common_dir: self.common_dir.as_path() }
    }

    fn path(&self, name: &BytePath) -> PathBuf {
        self.top.as_path().join(name.as_path())
    }

    fn fingerprints<'n>(
        &self,
        names: impl Iterator<Item = &'n BytePath>,
    ) -> Result<Vec<(BytePath, ContentFingerprint)>, InspectionError> {
        let mut budget = ReadBudget::default();
        let take = |name: &BytePath| {
            let path = self.path(name);
            let taken = ContentFingerprint::take(&path, &mut budget);
            Ok((name.clone(), taken.map_err(|error| read_error(&path, &error))?))
        };
        names.map(take).collect()
    }

    /// Finds the files that differ from the index.
    fn index_differences(
        &self,
        opened: &ShadowIndex<'_>,
        data: &Path,
    ) -> Result<IndexDifferences, InspectionError> {
        // Of the commands that compare, `diff` alone reads a file's content, not only its length,
        // before it reports a difference.
        let differ = ["diff", "-z", "--name-only", "--no-renames", "--ignore-submodules=all"];
        let unknown = ["ls-files", "-z", "--others", "--exclude-standard"];
        let mut touched = IndexDifferences::default();
        let ours = |name: &BytePath| !self.path(name).starts_with(data);
        touched
            .differ
            .extend(split_nul(&opened.call(&differ).output()?).map(BytePath::new).filter(ours));
        for item in split_nul(&opened.call(&unknown).output()?) {
            let (name, to) = match item.strip_suffix(b"/") {
                Some(folder) => (BytePath::new(folder), &mut touched.nested),
                None => (BytePath::new(item), &mut touched.unknown),
            };
            to.extend(Some(name).filter(ours));
        }
        let is_populated =
            |link: &BytePath| self.path(link).join(".git").symlink_metadata().is_ok();
        touched.nested.extend(submodules(opened)?.into_iter().filter(is_populated));
        if touched.differ.len() + touched.unknown.len() > FILES_MAX {
            return Err(too_many_error(self.top.as_path()));
        }
        Ok(touched)
    }

    /// Returns the changes to files that were clean or absent at the baseline.
    fn clean_file_changes(
        &self,
        opened: &ShadowIndex<'_>,
        data: &Path,
    ) -> Result<Vec<ChangedFile>, InspectionError> {
        let IndexDifferences { differ, unknown, nested } = self.index_differences(opened, data)?;
        let known: BTreeSet<&BytePath> = self.dirty.iter().map(|(name, _)| name).collect();
        let changed = |name: &BytePath, how| ChangedFile {
            path: name.join_onto(&self.named).to_display(),
            how,
        };
        let mut others = Vec::new();
        for name in differ.iter().filter(|name| !known.contains(name)) {
            let there = self.path(name).symlink_metadata().is_ok();
            others.push(changed(
                name,
                if there { ChangeKind::Modified } else { ChangeKind::Deleted },
            ));
        }
        for name in unknown.iter().filter(|name| !known.contains(name)) {
            others.push(changed(name, ChangeKind::Added));
        }
        for inner in nested.iter().filter(|inner| !self.nested.contains(inner)) {
            let names = list_files(&self.path(inner), data)?;
            others.extend(
                names.iter().map(|name| changed(&name.join_onto(inner), ChangeKind::Added)),
            );
        }
        Ok(others)
    }

    /// Returns the ignore rules in the work tree.
    fn rules(
        &self,
        opened: &ShadowIndex<'_>,
    ) -> Result<BTreeSet<(BytePath, String)>, InspectionError> {
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"];
        let list = opened.call(&list).with_args([":(glob)**/.gitignore"]).output()?;
        let mut rules = BTreeSet::new();
        for name in split_nul(&list).map(BytePath::new) {
            // Git ignores an unreadable file too.
            let text = std::fs::read(self.path(&name)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            rules.extend(text.lines().map(|rule| (name.clone(), rule.trim_end().to_owned())));
            if rules.len() > FILES_MAX {
                return Err(InspectionError(format!("more than {FILES_MAX} ignore rules")));
            }
        }
        Ok(rules)
    }

    /// Returns the files that are ignored only by rules that the run added; otherwise a run could
    /// hide its files this way. An ignored folder counts as one entry.
    fn newly_ignored(&self, opened: &ShadowIndex<'_>) -> Result<Vec<ChangedFile>, InspectionError> {
        if self.rules(opened)?.is_subset(&self.rules) {
            return Ok(vec![]);
        }
        let ignored =
            ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        let ignored = opened.call(&ignored).output()?;
        if split_nul(&ignored).nth(FILES_MAX).is_some() {
            return Err(too_many_error(self.top.as_path()));
        }
        // `./` keeps a leading colon from being read as pathspec syntax.
        let plain: Vec<u8> =
            split_nul(&ignored).flat_map(|item| [b"./", item, b"\0"].concat()).collect();
        let why = ["check-ignore", "-z", "--verbose", "--no-index", "--stdin"];
        let why = opened.call(&why).with_input(plain).run()?;
        if !matches!(why.code, Some(0 | 1)) {
            return Err(why.to_error());
        }
        Ok(self.parse_newly_ignored(&why.output))
    }

    /// Parses why each path is ignored: the file of the rule, its line, the rule, and the path.
    fn parse_newly_ignored(&self, why: &[u8]) -> Vec<ChangedFile> {
        let known: BTreeSet<&BytePath> = self.dirty.iter().map(|(name, _)| name).collect();
        let fields: Vec<&[u8]> = why.split(|byte| *byte == 0).collect();
        let mut hidden = Vec::new();
        for field in fields.chunks_exact(4) {
            let rule = String::from_utf8_lossy(field[2]).trim_end().to_owned();
            let source = BytePath::new(field[0]);
            let of_tree = source.as_path().file_name().is_some_and(|name| name == ".gitignore");
            let name = BytePath::new(field[3].strip_prefix(b"./").unwrap_or(field[3]));
            if of_tree && !self.rules.contains(&(source, rule)) && !known.contains(&name) {
                hidden.push(ChangedFile {
                    path: name.join_onto(&self.named).to_display(),
                    how: ChangeKind::Added,
                });
            }
        }
        hidden
    }

    /// Returns the number of new commits, and the files they change.
    fn new_commits(
        &self,
        shadow: &ShadowRepository<'_>,
        data: &Path,
    ) -> Result<(u32, Vec<ChangedFile>), InspectionError> {
        let git_dir = self.git_dir.as_path();
        let local = references(git_dir)?.into_iter().filter(|(_, name)| !is_remote(name));
        let now: BTreeSet<String> = local.map(|(tip, _)| tip).chain(head(git_dir)?).collect();
        let new: Vec<&String> = now.difference(&self.tips).collect();
        if new.is_empty() {
            return Ok((0, vec![]));
        }
        let old = self.tips.iter().chain(&self.head).map(|tip| format!("^{tip}\n"));
        let input: String = new.iter().map(|tip| format!("{tip}\n")).chain(old).collect();
        if new.len() > TIPS_MAX {
            return Err(InspectionError(format!("more than {TIPS_MAX} references have changed")));
        }
        let counted = ["rev-list", "--count", "--ignore-missing", "--stdin"];
        let commits = parse_count(&shadow.call(&counted).with_input(input.into_bytes()).output()?)?;
        let mut changed = Vec::new();
        for tip in new {
            changed.extend(self.commit_changes(shadow, tip, data)?);
        }
        changed.sort_unstable();
        changed.dedup_by(|one, other| one.path == other.path);
        Ok((commits, changed))
    }

    /// Returns the files that differ between a commit and its merge base with the old head.
    fn commit_changes(
        &self,
        shadow: &ShadowRepository<'_>,
        tip: &str,
        data: &Path,
    ) -> Result<Vec<ChangedFile>, InspectionError> {
        let commit = format!("{tip}^{{commit}}");
        let is_commit = shadow.call(&["rev-parse", "-q", "--verify", &commit]).run()?;
        if is_commit.code != Some(0) {
            return Ok(vec![]);
        }
        let base = match &self.head {
            Some(head) => shadow.call(&["merge-base", head, &commit]).run()?.output,
            None => vec![],
        };
        let base = String::from_utf8_lossy(&base).trim().to_owned();
        let base = match (&self.head, base.is_empty()) {
            (_, false) => base,
            // There is no merge base, for example after the first commit was rewritten.
            (Some(head), true) => head.clone(),
            (None, true) => empty_tree(shadow)?,
        };
        let differ = ["diff-tree", "-r", "-z", "--name-status", "--no-renames", &base, &commit];
        let output = shadow.call(&differ).output()?;
        let fields: Vec<&[u8]> = split_nul(&output).collect();
        let changed = |field: &[&[u8]]| {
            let how = match field[0].first() {
                Some(b'A') => ChangeKind::Added,
                Some(b'D') => ChangeKind::Deleted,
                _ => ChangeKind::Modified,
            };
            ChangedFile { path: BytePath::new(field[1]).join_onto(&self.named).to_display(), how }
        };
        let ours = |field: &&[&[u8]]| !self.path(&BytePath::new(field[1])).starts_with(data);
        Ok(fields.chunks_exact(2).filter(ours).map(changed).collect())
    }
}

/// Returns the id of the empty tree.
fn empty_tree(shadow: &ShadowRepository<'_>) -> Result<String, InspectionError> {
    let output = shadow.call(&["hash-object", "-t", "tree", "--stdin"]).output()?;
    Ok(String::from_utf8_lossy(&output).trim().to_owned())
}

/// Returns the submodule folders in the index.
fn submodules(opened: &ShadowIndex<'_>) -> Result<Vec<BytePath>, InspectionError> {
    let output = opened.call(&["ls-files", "-z", "--stage"]).output()?;
    let link = |item: &[u8]| {
        let path = item.strip_prefix(b"160000 ")?;
        Some(BytePath::new(&path[path.iter().position(|byte| *byte == b'\t')? + 1..]))
    };
    Ok(split_nul(&output).filter_map(link).collect())
}

/// Returns the commit of `HEAD`; `None` if there is no commit yet.
fn head(git_dir: &Path) -> Result<Option<String>, InspectionError> {
    let call = repository_call(git_dir, &["rev-parse", "-q", "--verify", "HEAD^{commit}"]);
    let answer = call.run()?;
    match answer.code {
        Some(0) => Ok(Some(String::from_utf8_lossy(&answer.output).trim().to_owned())),
        Some(1) => Ok(None),
        _ => Err(answer.to_error()),
    }
}

/// Returns every reference as (commit, name).
fn references(git_dir: &Path) -> Result<Vec<(String, String)>, InspectionError> {
    let output = repository_call(git_dir, &["for-each-ref", "--format=%(objectname) %(refname)"])
        .output()?;
    let output = String::from_utf8_lossy(&output);
    let pair = |line: &str| line.split_once(' ').map(|(tip, name)| (tip.into(), name.into()));
    Ok(output.lines().filter_map(pair).collect())
}

/// Makes a call on the repository itself. Only for references and commits, which execute nothing.
fn repository_call(git_dir: &Path, arguments: &[&str]) -> GitCommand {
    GitCommand::new(git_dir, GitConfigScope::Isolated, arguments).with_env("GIT_DIR", git_dir)
}

/// Remote references are fetched, not committed by the run.
fn is_remote(name: &str) -> bool {
    name.starts_with("refs/remotes/")
}

/// Returns the number of commits in a repository that did not exist at the baseline.
pub(super) fn count_commits(top: &Path) -> Result<u32, InspectionError> {
    let RepositoryLookup::Inside(found) = RepositoryLookup::find(top)? else { return Ok(0) };
    parse_count(&repository_call(&found.git_dir, &["rev-list", "--count", "--all"]).output()?)
}

/// Parses a count, and caps it at `u32::MAX`.
fn parse_count(output: &[u8]) -> Result<u32, InspectionError> {
    let text = String::from_utf8_lossy(output);
    let number: Result<u64, _> = text.trim().parse();
    let number =
        number.map_err(|_| InspectionError("git did not print the number of commits".into()))?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}
