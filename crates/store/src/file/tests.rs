//! Golden files of a data folder: journal, index, and the files of tasks and runs.

mod data_folder;
mod doctor;
mod fleet_commits;
mod journal;
mod scene;

/// Replaces the boot id, which differs on every machine and after every boot.
fn mask_boot_id(marker: &str) -> String {
    let (line, _boot) = marker.trim_end().rsplit_once(' ').expect("a marker ends in a boot id");
    format!("{line} <boot id>\n")
}

/// Replaces the inodes, times and checksums in an index. The checksum covers the replaced values.
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
