//! What a power cut may leave of a folder: what was synced is there, of everything since then any
//! part may be missing.

use std::collections::{BTreeMap, BTreeSet};

use crate::dice::Dice;
use crate::snapshot::Snapshot;

/// Returns a folder as a power cut may leave it, if `before` was synced and `after` was not. Of
/// the journal, which is synced at every commit, nothing is lost.
pub fn cut(before: &Snapshot, after: &Snapshot, dice: &mut Dice) -> Snapshot {
    let mut left = Snapshot::default();
    let (before, after) = moved_or_not(&taken_over(before, after), after, dice);
    let places = places_of_companions(&before, &after, dice);
    let (before, after) = (at_their_places(before, &places), at_their_places(after, &places));
    let paths: BTreeSet<&String> = before.files.keys().chain(after.files.keys()).collect();
    for path in paths {
        let (old, new) = (before.files.get(path), after.files.get(path));
        let kept = match path.as_str() {
            path if path.starts_with("journal/") => journal_file(path, old, new, dice),
            path if path.starts_with("events/") => events_file(old, new, dice),
            // Both are synced before anything else is done.
            path if path == "format.json" || path.starts_with("backup/") => new.cloned(),
            _ => file(old, new, dice),
        };
        if let Some(bytes) = kept {
            left.files.insert(path.clone(), bytes);
        }
    }
    left
}

/// Of a file that is new or was written over, all or nothing of either text may be there.
fn file(old: Option<&Vec<u8>>, new: Option<&Vec<u8>>, dice: &mut Dice) -> Option<Vec<u8>> {
    if old == new {
        return new.cloned();
    }
    let mut may_be = vec![old.cloned(), new.cloned()];
    if let Some(new) = new {
        let first_byte = new.iter().copied().take(1).collect();
        may_be.extend([vec![], vec![0; new.len()], first_block(new), first_byte].map(Some));
    }
    dice.one_of(&may_be).clone()
}

/// Runs that were taken over from others are moved for good: that is synced at once.
fn taken_over(before: &Snapshot, after: &Snapshot) -> Snapshot {
    let mut safe = before.clone();
    for (path, bytes) in before.files.iter().filter(|(path, _)| !after.files.contains_key(*path)) {
        if let Some(run) = path.strip_prefix("state/") {
            safe.files.remove(path);
            safe.files.insert(run.to_owned(), bytes.clone());
        }
    }
    safe
}

/// A file of a run that was moved is at one of its two places, never at both or at none.
fn moved_or_not(before: &Snapshot, after: &Snapshot, dice: &mut Dice) -> (Snapshot, Snapshot) {
    let (mut old, mut new) = (before.clone(), after.clone());
    for (from, bytes) in before.files.iter().filter(|(path, _)| path.starts_with("runs/")) {
        let moved = |(path, now): &(&String, &Vec<u8>)| {
            !before.files.contains_key(*path) && path.starts_with("runs/") && *now == bytes
        };
        if after.files.get(from) == Some(bytes) {
            continue;
        }
        let Some((to, _)) = after.files.iter().find(moved) else { continue };
        if dice.below(2) == 0 {
            old.files.remove(from);
            old.files.insert(to.clone(), bytes.clone());
        } else {
            new.files.remove(to);
            new.files.insert(from.clone(), bytes.clone());
        }
    }
    (old, new)
}

/// The first block alone, if there is more than one.
fn first_block(text: &[u8]) -> Vec<u8> {
    text.get(..4096).unwrap_or_default().to_vec()
}

/// Lines are only ever added: what was synced is there, and some of the rest.
fn events_file(old: Option<&Vec<u8>>, new: Option<&Vec<u8>>, dice: &mut Dice) -> Option<Vec<u8>> {
    let (old, new) = (old.map_or(&[][..], |old| old), new?);
    let added = new.len() - old.len();
    let length = old.len() + *dice.one_of(&[0, added, dice.clone().below(added + 1)]);
    let mut bytes = new[..length].to_vec();
    if dice.below(4) == 0 {
        bytes.resize(new.len(), 0);
    }
    (!bytes.is_empty() || dice.below(2) == 0).then_some(bytes)
}

fn journal_file(
    path: &str,
    old: Option<&Vec<u8>>,
    new: Option<&Vec<u8>>,
    dice: &mut Dice,
) -> Option<Vec<u8>> {
    match path {
        "journal/state" => {
            let kept = dice.one_of(&[old.cloned(), new.cloned(), Some(vec![]), None]).clone();
            kept.map(|bytes| of_another_boot(&bytes))
        }
        "journal/index" => {
            let torn = new.map(|new| new[..dice.below(new.len() + 1)].to_vec());
            dice.one_of(&[old.cloned(), new.cloned(), torn, Some(vec![]), None]).clone()
        }
        path if path.starts_with("journal/marks-") => {
            dice.one_of(&[old.cloned(), new.cloned(), Some(vec![]), None]).clone()
        }
        _ => new.cloned(),
    }
}

/// Returns what the marker says, as if the machine had been started again since.
pub fn of_another_boot(marker: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(marker);
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    match &words[..] {
        [first @ .., _] => format!("{} another-boot\n", first.join(" ")).into_bytes(),
        [] => vec![],
    }
}

/// Returns the task and its place, of a file in a task's own folder.
fn companion(path: &str) -> Option<(&str, &str, &str)> {
    let mut parts = path.strip_prefix("tasks/")?.splitn(3, '/');
    Some((parts.next()?, parts.next()?, parts.next()?))
}

/// A task's own folder is renamed whole: for each, one of the places it was at.
fn places_of_companions(
    before: &Snapshot,
    after: &Snapshot,
    dice: &mut Dice,
) -> BTreeMap<String, String> {
    let mut places = BTreeMap::new();
    for snapshot in [before, after] {
        for (status, id, _) in snapshot.files.keys().filter_map(|path| companion(path)) {
            let place = places.entry(id.to_owned()).or_insert_with(|| status.to_owned());
            if *place != status && dice.below(2) == 0 {
                status.clone_into(place);
            }
        }
    }
    places
}

fn at_their_places(mut snapshot: Snapshot, places: &BTreeMap<String, String>) -> Snapshot {
    let place = |path: String| match companion(&path) {
        Some((_, id, rest)) => format!("tasks/{}/{id}/{rest}", places[id]),
        None => path,
    };
    snapshot.files = snapshot.files.into_iter().map(|(path, b)| (place(path), b)).collect();
    snapshot
}
