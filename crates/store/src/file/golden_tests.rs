//! Golden files of a data folder: its journal, its index, and the files of tasks and runs.

mod data_folder;
mod doctor;
mod fleet_commits;
mod journal;
mod scene;

/// Replaces what differs on every machine and at every run: the name of this boot.
fn mask_boot_id(marker: &str) -> String {
    let (line, _boot) = marker.trim_end().rsplit_once(' ').expect("a marker ends in a boot id");
    format!("{line} <boot id>\n")
}

/// Replaces the inodes, times and checksums in an index. The checksum is over the line with them.
fn mask_index(index: &str) -> String {
    let mask = |line: &str| match line.split_once("\"sig\":[") {
        Some((before, after)) => {
            let (_, rest) = after.split_once(']').expect("a signature ends");
            format!("<checksum>{}\"sig\":[<inode, size, mtime>]{rest}\n", &before[8..])
        }
        None => format!("{line}\n"),
    };
    index.lines().map(mask).collect()
}
