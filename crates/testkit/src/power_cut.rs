//! Simulates power cuts: synced data is there, and any part of later data may be missing.

use std::collections::{BTreeMap, BTreeSet};

use crate::seeded_rng::SeededRng;
use crate::snapshot::FolderSnapshot;

/// Returns a folder as a power cut may leave it if `before` was synced and `after` was not. The
/// journal loses nothing, because every commit syncs it.
pub fn cut_power(
    before: &FolderSnapshot,
    after: &FolderSnapshot,
    rng: &mut SeededRng,
) -> FolderSnapshot {
    let mut left = FolderSnapshot::default();
    let (before, after) = choose_moves(&with_imported_runs(before, after), after, rng);
    let places = choose_companion_places(&before, &after, rng);
    let (before, after) = (move_companions(before, &places), move_companions(after, &places));
    let paths: BTreeSet<&String> = before.files.keys().chain(after.files.keys()).collect();
    for path in paths {
        let (old, new) = (before.files.get(path), after.files.get(path));
        let kept = match path.as_str() {
            path if path.starts_with("journal/") => choose_journal_content(path, old, new, rng),
            path if path.starts_with("events/") => choose_event_lines(old, new, rng),
            // Both are synced before anything else is done.
            path if path == "format.json" || path.starts_with("backup/") => new.cloned(),
            _ => choose_file_content(old, new, rng),
        };
        if let Some(bytes) = kept {
            left.files.insert(path.clone(), bytes);
        }
    }
    left
}

/// A file that is new or was overwritten may have its old text, its new text, or parts of it.
fn choose_file_content(
    old: Option<&Vec<u8>>,
    new: Option<&Vec<u8>>,
    rng: &mut SeededRng,
) -> Option<Vec<u8>> {
    if old == new {
        return new.cloned();
    }
    let mut may_be = vec![old.cloned(), new.cloned()];
    if let Some(new) = new {
        let first_byte = new.iter().copied().take(1).collect();
        may_be.extend([vec![], vec![0; new.len()], first_block(new), first_byte].map(Some));
    }
    rng.choose(&may_be).clone()
}

/// Imported runs are already moved, because that is synced at once.
fn with_imported_runs(before: &FolderSnapshot, after: &FolderSnapshot) -> FolderSnapshot {
    let mut safe = before.clone();
    for (path, bytes) in before.files.iter().filter(|(path, _)| !after.files.contains_key(*path)) {
        if let Some(run) = path.strip_prefix("state/") {
            safe.files.remove(path);
            safe.files.insert(run.to_owned(), bytes.clone());
        }
    }
    safe
}

/// A moved file of a run is in exactly one of its two places.
fn choose_moves(
    before: &FolderSnapshot,
    after: &FolderSnapshot,
    rng: &mut SeededRng,
) -> (FolderSnapshot, FolderSnapshot) {
    let (mut old, mut new) = (before.clone(), after.clone());
    for (from, bytes) in before.files.iter().filter(|(path, _)| path.starts_with("runs/")) {
        let moved = |(path, now): &(&String, &Vec<u8>)| {
            !before.files.contains_key(*path) && path.starts_with("runs/") && *now == bytes
        };
        if after.files.get(from) == Some(bytes) {
            continue;
        }
        let Some((to, _)) = after.files.iter().find(moved) else { continue };
        if rng.below(2) == 0 {
            old.files.remove(from);
            old.files.insert(to.clone(), bytes.clone());
        } else {
            new.files.remove(to);
            new.files.insert(from.clone(), bytes.clone());
        }
    }
    (old, new)
}

/// Returns the first block, if there is more than one.
fn first_block(text: &[u8]) -> Vec<u8> {
    text.get(..4096).unwrap_or_default().to_vec()
}

/// Lines are only ever appended: the synced ones are there, and some of the rest.
fn choose_event_lines(
    old: Option<&Vec<u8>>,
    new: Option<&Vec<u8>>,
    rng: &mut SeededRng,
) -> Option<Vec<u8>> {
    let (old, new) = (old.map_or(&[][..], |old| old), new?);
    let added = new.len() - old.len();
    let length = old.len() + *rng.choose(&[0, added, rng.clone().below(added + 1)]);
    let mut bytes = new[..length].to_vec();
    if rng.below(4) == 0 {
        bytes.resize(new.len(), 0);
    }
    (!bytes.is_empty() || rng.below(2) == 0).then_some(bytes)
}

fn choose_journal_content(
    path: &str,
    old: Option<&Vec<u8>>,
    new: Option<&Vec<u8>>,
    rng: &mut SeededRng,
) -> Option<Vec<u8>> {
    match path {
        "journal/state" => {
            let kept = rng.choose(&[old.cloned(), new.cloned(), Some(vec![]), None]).clone();
            kept.map(|bytes| with_another_boot(&bytes))
        }
        "journal/index" => {
            let torn = new.map(|new| new[..rng.below(new.len() + 1)].to_vec());
            rng.choose(&[old.cloned(), new.cloned(), torn, Some(vec![]), None]).clone()
        }
        path if path.starts_with("journal/marks-") => {
            rng.choose(&[old.cloned(), new.cloned(), Some(vec![]), None]).clone()
        }
        _ => new.cloned(),
    }
}

/// Returns the marker as if the machine had rebooted since.
pub fn with_another_boot(marker: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(marker);
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    match &words[..] {
        [first @ .., _] => format!("{} another-boot\n", first.join(" ")).into_bytes(),
        [] => vec![],
    }
}

/// Returns status, task and rest of a path in a companion folder.
fn parse_companion_path(path: &str) -> Option<(&str, &str, &str)> {
    let mut parts = path.strip_prefix("tasks/")?.splitn(3, '/');
    Some((parts.next()?, parts.next()?, parts.next()?))
}

/// A companion folder is renamed as a whole: chooses one of its places for each.
fn choose_companion_places(
    before: &FolderSnapshot,
    after: &FolderSnapshot,
    rng: &mut SeededRng,
) -> BTreeMap<String, String> {
    let mut places = BTreeMap::new();
    for snapshot in [before, after] {
        for (status, id, _) in snapshot.files.keys().filter_map(|path| parse_companion_path(path)) {
            let place = places.entry(id.to_owned()).or_insert_with(|| status.to_owned());
            if *place != status && rng.below(2) == 0 {
                status.clone_into(place);
            }
        }
    }
    places
}

fn move_companions(
    mut snapshot: FolderSnapshot,
    places: &BTreeMap<String, String>,
) -> FolderSnapshot {
    let place = |path: String| match parse_companion_path(&path) {
        Some((_, id, rest)) => format!("tasks/{}/{id}/{rest}", places[id]),
        None => path,
    };
    snapshot.files = snapshot.files.into_iter().map(|(path, b)| (place(path), b)).collect();
    snapshot
}
