//! A git work tree: what was dirty or unknown to git, and what it could commit to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::fingerprint::{Budget, Fingerprint};
use super::folder::{changes, names, too_many, unread};
use super::git::{Call, Settings, items};
use super::name::Name;
use super::shadow::{Opened, Places, Shadow};
use super::{Changed, FILES_MAX, How, Unseen};

/// The most new tips whose files are looked at.
const TIPS_MAX: usize = 100;

/// A repository as it was.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Repository {
    /// What its work tree is called among the others; empty for the first.
    named: Name,
    top: Name,
    git_dir: Name,
    common_dir: Name,
    /// The name of our own git folder for it.
    shadow: String,
    head: Option<String>,
    /// Every commit that something pointed to, the other side's included.
    tips: BTreeSet<String>,
    /// The files that were not as the index has them, or unknown to git.
    dirty: Vec<(Name, Fingerprint)>,
    /// The folders that are repositories themselves.
    nested: BTreeSet<Name>,
    /// What is ignored: where each rule stands, and the rule.
    rules: BTreeSet<(Name, String)>,
}

/// What in a work tree is not as the index has it.
#[derive(Default)]
struct Touched {
    /// The files that the index has otherwise.
    differ: BTreeSet<Name>,
    /// The files that it does not have, and that are not ignored.
    unknown: BTreeSet<Name>,
    /// The folders that are repositories themselves.
    nested: BTreeSet<Name>,
}

/// Where a folder stands.
pub(super) enum Standing {
    /// In no repository, or ignored by the one it is in.
    Alone,
    /// In the work tree of one.
    In(Found),
}

/// A work tree that was found.
pub(super) struct Found {
    pub(super) top: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
}

impl Standing {
    /// Finds out where a folder stands.
    pub(super) fn of(folder: &Path) -> Result<Self, Unseen> {
        if !folder.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok()) {
            return Ok(Self::Alone);
        }
        let asked = ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir"];
        let call = Call::new(folder, Settings::OfNobody, &asked).arguments(["--git-common-dir"]);
        let answer = call.answer()?;
        if answer.code != Some(0) {
            let alone = answer.complaint.contains("not a git repository");
            return if alone { Ok(Self::Alone) } else { Err(answer.failed()) };
        }
        let lines: Vec<&[u8]> = answer.output.split(|byte| *byte == b'\n').collect();
        let [top, git_dir, common_dir, b""] = lines[..] else {
            return Err(Unseen("the path of the repository has a line break in it".to_owned()));
        };
        let path = |bytes: &[u8]| Name::new(bytes).to_path();
        let found = Found { top: path(top), git_dir: path(git_dir), common_dir: path(common_dir) };
        let ignored = found.top != folder && is_ignored(&found.top, folder)?;
        Ok(if ignored { Self::Alone } else { Self::In(found) })
    }
}

fn is_ignored(top: &Path, folder: &Path) -> Result<bool, Unseen> {
    let call = Call::new(top, Settings::OfNobody, &["check-ignore", "-q", "--"]);
    let answer = call.arguments([folder]).answer()?;
    match answer.code {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => Err(answer.failed()),
    }
}

impl Repository {
    /// Notes what a repository is like. `shadow` is the name of our own git folder for it, in the
    /// folder of the attempt.
    pub(super) fn take(
        found: Found,
        named: Name,
        attempt: &Path,
        shadow: String,
        data: &Path,
    ) -> Result<Self, Unseen> {
        let Found { top, git_dir, common_dir } = found;
        let mut taken = Self {
            named,
            head: head(&git_dir)?,
            tips: tips(&git_dir)?.into_iter().map(|(tip, _)| tip).collect(),
            top: top.into(),
            git_dir: git_dir.into(),
            common_dir: common_dir.into(),
            shadow,
            dirty: vec![],
            nested: BTreeSet::new(),
            rules: BTreeSet::new(),
        };
        let dir = attempt.join(&taken.shadow);
        let looked = Shadow::make(&dir, taken.places()).and_then(|shadow| {
            let opened = shadow.open()?;
            Ok((taken.touched(&opened, data)?, taken.rules(&opened)?))
        });
        let (Touched { differ, unknown, nested }, rules) = looked?;
        (taken.nested, taken.rules) = (nested, rules);
        taken.dirty = taken.fingerprints(differ.union(&unknown))?;
        Ok(taken)
    }

    /// Returns the repositories in its work tree, with what each is called among all.
    pub(super) fn nested(&self) -> impl Iterator<Item = (PathBuf, Name)> {
        self.nested.iter().map(|inner| (self.path(inner), inner.below(&self.named)))
    }

    /// Says what changed in its work tree and how many commits are new.
    pub(super) fn compare(
        &self,
        attempt: &Path,
        data: &Path,
    ) -> Result<(Vec<Changed>, u32), Unseen> {
        if !self.top.path().is_dir() {
            let changed = Changed { path: self.named.shown(), how: How::Deleted };
            return Ok((vec![changed], 0));
        }
        let dir = attempt.join(&self.shadow);
        let shadow = Shadow::at(&dir, self.places());
        let opened = shadow.open()?;
        let mut changed = changes(self.top.path(), &self.named, &self.dirty)?;
        changed.extend(self.others(&opened, data)?);
        changed.extend(self.hidden(&opened)?);
        let (commits, files) = self.commits(&shadow, data)?;
        let known: BTreeSet<String> = changed.iter().map(|one| one.path.clone()).collect();
        changed.extend(files.into_iter().filter(|one| !known.contains(&one.path)));
        Ok((changed, commits))
    }

    fn places(&self) -> Places<'_> {
        let (top, git_dir) = (self.top.path(), self.git_dir.path());
        Places { top, git_dir, common_dir: self.common_dir.path() }
    }

    fn path(&self, name: &Name) -> PathBuf {
        self.top.path().join(name.path())
    }

    fn fingerprints<'n>(
        &self,
        names: impl Iterator<Item = &'n Name>,
    ) -> Result<Vec<(Name, Fingerprint)>, Unseen> {
        let mut budget = Budget::default();
        let take = |name: &Name| {
            let path = self.path(name);
            let taken = Fingerprint::take(&path, &mut budget);
            Ok((name.clone(), taken.map_err(|error| unread(&path, &error))?))
        };
        names.map(take).collect()
    }

    /// Looks for what is not as the index has it.
    fn touched(&self, opened: &Opened<'_>, data: &Path) -> Result<Touched, Unseen> {
        // Of the commands that compare, this one looks at what is in a file before it says that it
        // differs, and not only at its length.
        let differ = ["diff", "-z", "--name-only", "--no-renames", "--ignore-submodules=all"];
        let unknown = ["ls-files", "-z", "--others", "--exclude-standard"];
        let mut touched = Touched::default();
        let ours = |name: &Name| !self.path(name).starts_with(data);
        touched.differ.extend(items(&opened.call(&differ).output()?).map(Name::new).filter(ours));
        for item in items(&opened.call(&unknown).output()?) {
            let (name, to) = match item.strip_suffix(b"/") {
                Some(folder) => (Name::new(folder), &mut touched.nested),
                None => (Name::new(item), &mut touched.unknown),
            };
            to.extend(Some(name).filter(ours));
        }
        let is_populated = |link: &Name| self.path(link).join(".git").symlink_metadata().is_ok();
        touched.nested.extend(links(opened)?.into_iter().filter(is_populated));
        if touched.differ.len() + touched.unknown.len() > FILES_MAX {
            return Err(too_many(self.top.path()));
        }
        Ok(touched)
    }

    /// Returns the files that were as the index has them, or not there, and are not any more.
    fn others(&self, opened: &Opened<'_>, data: &Path) -> Result<Vec<Changed>, Unseen> {
        let Touched { differ, unknown, nested } = self.touched(opened, data)?;
        let known: BTreeSet<&Name> = self.dirty.iter().map(|(name, _)| name).collect();
        let changed = |name: &Name, how| Changed { path: name.below(&self.named).shown(), how };
        let mut others = Vec::new();
        for name in differ.iter().filter(|name| !known.contains(name)) {
            let there = self.path(name).symlink_metadata().is_ok();
            others.push(changed(name, if there { How::Modified } else { How::Deleted }));
        }
        for name in unknown.iter().filter(|name| !known.contains(name)) {
            others.push(changed(name, How::Added));
        }
        for inner in nested.iter().filter(|inner| !self.nested.contains(inner)) {
            let names = names(&self.path(inner), data)?;
            others.extend(names.iter().map(|name| changed(&name.below(inner), How::Added)));
        }
        Ok(others)
    }

    /// Returns what the work tree says is ignored.
    fn rules(&self, opened: &Opened<'_>) -> Result<BTreeSet<(Name, String)>, Unseen> {
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"];
        let list = opened.call(&list).arguments([":(glob)**/.gitignore"]).output()?;
        let mut rules = BTreeSet::new();
        for name in items(&list).map(Name::new) {
            // One that cannot be read says nothing to git either.
            let text = std::fs::read(self.path(&name)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            rules.extend(text.lines().map(|rule| (name.clone(), rule.trim_end().to_owned())));
            if rules.len() > FILES_MAX {
                return Err(Unseen(format!("more than {FILES_MAX} rules of what is ignored")));
            }
        }
        Ok(rules)
    }

    /// Returns what is ignored only because the run said so: to say that one's own files do not
    /// count is no way not to have written them. A folder counts as one.
    fn hidden(&self, opened: &Opened<'_>) -> Result<Vec<Changed>, Unseen> {
        if self.rules(opened)?.is_subset(&self.rules) {
            return Ok(vec![]);
        }
        let ignored =
            ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        let ignored = opened.call(&ignored).output()?;
        if items(&ignored).nth(FILES_MAX).is_some() {
            return Err(too_many(self.top.path()));
        }
        // A name that begins with a colon would mean something else.
        let plain: Vec<u8> =
            items(&ignored).flat_map(|item| [b"./", item, b"\0"].concat()).collect();
        let why = ["check-ignore", "-z", "--verbose", "--no-index", "--stdin"];
        let why = opened.call(&why).input(plain).answer()?;
        if !matches!(why.code, Some(0 | 1)) {
            return Err(why.failed());
        }
        Ok(self.hidden_by_run(&why.output))
    }

    /// Reads why each path is ignored: where the rule stands, its line, the rule, and the path.
    fn hidden_by_run(&self, why: &[u8]) -> Vec<Changed> {
        let known: BTreeSet<&Name> = self.dirty.iter().map(|(name, _)| name).collect();
        let fields: Vec<&[u8]> = why.split(|byte| *byte == 0).collect();
        let mut hidden = Vec::new();
        for field in fields.chunks_exact(4) {
            let rule = String::from_utf8_lossy(field[2]).trim_end().to_owned();
            let source = Name::new(field[0]);
            let of_tree = source.path().file_name().is_some_and(|name| name == ".gitignore");
            let name = Name::new(field[3].strip_prefix(b"./").unwrap_or(field[3]));
            if of_tree && !self.rules.contains(&(source, rule)) && !known.contains(&name) {
                hidden.push(Changed { path: name.below(&self.named).shown(), how: How::Added });
            }
        }
        hidden
    }

    /// Returns how many commits are new, and the files they change.
    fn commits(&self, shadow: &Shadow<'_>, data: &Path) -> Result<(u32, Vec<Changed>), Unseen> {
        let git_dir = self.git_dir.path();
        let local = tips(git_dir)?.into_iter().filter(|(_, name)| !is_remote(name));
        let now: BTreeSet<String> = local.map(|(tip, _)| tip).chain(head(git_dir)?).collect();
        let new: Vec<&String> = now.difference(&self.tips).collect();
        if new.is_empty() {
            return Ok((0, vec![]));
        }
        let old = self.tips.iter().chain(&self.head).map(|tip| format!("^{tip}\n"));
        let input: String = new.iter().map(|tip| format!("{tip}\n")).chain(old).collect();
        if new.len() > TIPS_MAX {
            return Err(Unseen(format!("more than {TIPS_MAX} references have changed")));
        }
        let counted = ["rev-list", "--count", "--ignore-missing", "--stdin"];
        let commits = count(&shadow.call(&counted).input(input.into_bytes()).output()?)?;
        let mut changed = Vec::new();
        for tip in new {
            changed.extend(self.committed(shadow, tip, data)?);
        }
        changed.sort_unstable();
        changed.dedup_by(|one, other| one.path == other.path);
        Ok((commits, changed))
    }

    /// Returns the files that differ between a tip and what it has in common with the old head.
    fn committed(
        &self,
        shadow: &Shadow<'_>,
        tip: &str,
        data: &Path,
    ) -> Result<Vec<Changed>, Unseen> {
        let commit = format!("{tip}^{{commit}}");
        let is_commit = shadow.call(&["rev-parse", "-q", "--verify", &commit]).answer()?;
        if is_commit.code != Some(0) {
            return Ok(vec![]);
        }
        let base = match &self.head {
            Some(head) => shadow.call(&["merge-base", head, &commit]).answer()?.output,
            None => vec![],
        };
        let base = String::from_utf8_lossy(&base).trim().to_owned();
        let base = match (&self.head, base.is_empty()) {
            (_, false) => base,
            // They have nothing in common: the first commit was written anew, say.
            (Some(head), true) => head.clone(),
            (None, true) => empty_tree(shadow)?,
        };
        let differ = ["diff-tree", "-r", "-z", "--name-status", "--no-renames", &base, &commit];
        let output = shadow.call(&differ).output()?;
        let fields: Vec<&[u8]> = items(&output).collect();
        let changed = |field: &[&[u8]]| {
            let how = match field[0].first() {
                Some(b'A') => How::Added,
                Some(b'D') => How::Deleted,
                _ => How::Modified,
            };
            Changed { path: Name::new(field[1]).below(&self.named).shown(), how }
        };
        let ours = |field: &&[&[u8]]| !self.path(&Name::new(field[1])).starts_with(data);
        Ok(fields.chunks_exact(2).filter(ours).map(changed).collect())
    }
}

/// Returns the id of the tree that has nothing in it.
fn empty_tree(shadow: &Shadow<'_>) -> Result<String, Unseen> {
    let output = shadow.call(&["hash-object", "-t", "tree", "--stdin"]).output()?;
    Ok(String::from_utf8_lossy(&output).trim().to_owned())
}

/// Returns the folders that the index has as repositories.
fn links(opened: &Opened<'_>) -> Result<Vec<Name>, Unseen> {
    let output = opened.call(&["ls-files", "-z", "--stage"]).output()?;
    let link = |item: &[u8]| {
        let path = item.strip_prefix(b"160000 ")?;
        Some(Name::new(&path[path.iter().position(|byte| *byte == b'\t')? + 1..]))
    };
    Ok(items(&output).filter_map(link).collect())
}

/// Returns what the work tree stands on; none if there is no commit yet.
fn head(git_dir: &Path) -> Result<Option<String>, Unseen> {
    let call = real(git_dir, &["rev-parse", "-q", "--verify", "HEAD^{commit}"]);
    let answer = call.answer()?;
    match answer.code {
        Some(0) => Ok(Some(String::from_utf8_lossy(&answer.output).trim().to_owned())),
        Some(1) => Ok(None),
        _ => Err(answer.failed()),
    }
}

/// Returns every reference: what it points to, and its name.
fn tips(git_dir: &Path) -> Result<Vec<(String, String)>, Unseen> {
    let output = real(git_dir, &["for-each-ref", "--format=%(objectname) %(refname)"]).output()?;
    let output = String::from_utf8_lossy(&output);
    let pair = |line: &str| line.split_once(' ').map(|(tip, name)| (tip.into(), name.into()));
    Ok(output.lines().filter_map(pair).collect())
}

/// Makes a call on the repository itself: for references and commits, which run nothing.
fn real(git_dir: &Path, arguments: &[&str]) -> Call {
    Call::new(git_dir, Settings::OfNobody, arguments).variable("GIT_DIR", git_dir)
}

/// What another side has is fetched, and not committed.
fn is_remote(name: &str) -> bool {
    name.starts_with("refs/remotes/")
}

/// Returns how many commits a repository has that was not one.
pub(super) fn all_commits(top: &Path) -> Result<u32, Unseen> {
    let Standing::In(found) = Standing::of(top)? else { return Ok(0) };
    count(&real(&found.git_dir, &["rev-list", "--count", "--all"]).output()?)
}

/// Reads a number that git printed. One that is larger than we count is as good as the largest.
fn count(output: &[u8]) -> Result<u32, Unseen> {
    let text = String::from_utf8_lossy(output);
    let number: Result<u64, _> = text.trim().parse();
    let number =
        number.map_err(|_| Unseen("git does not say how many commits there are".into()))?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}
