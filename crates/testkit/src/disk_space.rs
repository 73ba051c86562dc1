//! The free space of a small disk, and how to use it up.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{FallocateFlags, fallocate};

/// A disk that a test can fill up.
pub struct SmallDiskSpace {
    mount: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskResource {
    /// Space for the content of files.
    Blocks,
    /// Space for files themselves (inodes).
    Files,
}

impl SmallDiskSpace {
    /// Takes the mount point of the disk.
    pub fn at(mount: &Path) -> Self {
        Self { mount: mount.to_owned() }
    }

    pub fn available(&self, stock: DiskResource) -> u64 {
        let disk = rustix::fs::statvfs(&self.mount).expect("a disk");
        match stock {
            DiskResource::Blocks => disk.f_bavail,
            DiskResource::Files => disk.f_favail,
        }
    }

    /// Uses up all but `count` blocks or files. The kernel frees the blocks of removed files with a
    /// delay, so that it takes several rounds on a busy machine.
    pub fn fill_up_to(&self, stock: DiskResource, count: u64) {
        let filler = self.filler_folder();
        for round in 0..FILL_ROUNDS_MAX {
            let left = self.available(stock);
            let taken = left.checked_sub(count).expect("the disk has so much left");
            if taken == 0 && round > 0 {
                return;
            }
            match stock {
                DiskResource::Blocks => take_blocks(&filler.join(format!("blocks-{round}")), taken),
                DiskResource::Files => {
                    for number in 0..taken {
                        File::create(filler.join(format!("{round}-{number}"))).expect("a file");
                    }
                }
            }
        }
        panic!("{} blocks or files are left, not {count}", self.available(stock));
    }

    /// Uses up all space, while other processes may use some of it. Returns when no more space has
    /// become free for a while.
    pub fn fill(&self) {
        let filler = self.filler_folder();
        let (mut number, mut quiet) = (0, 0);
        while quiet < QUIET_LOOKS {
            let left = self.available(DiskResource::Blocks);
            if left == 0 {
                quiet += 1;
                thread::sleep(Duration::from_millis(20));
                continue;
            }
            (quiet, number) = (0, number + 1);
            let file = File::create(filler.join(number.to_string())).expect("a file");
            // Another process may have been quicker; then less is left.
            let bytes = self.available(DiskResource::Blocks) * BLOCK_BYTES;
            let _ = fallocate(&file, FallocateFlags::empty(), 0, bytes.max(1));
        }
    }

    /// Frees everything that was used up.
    pub fn release(&self) {
        fs::remove_dir_all(self.filler_folder()).expect("a filler");
    }

    fn filler_folder(&self) -> PathBuf {
        let filler = self.mount.join("filler");
        fs::create_dir_all(&filler).expect("a folder");
        filler
    }
}

fn take_blocks(path: &Path, count: u64) {
    let file = File::create(path).expect("a file");
    if count > 0 {
        let all = FallocateFlags::empty();
        fallocate(&file, all, 0, count * BLOCK_BYTES).expect("there is so much room");
    }
}

const BLOCK_BYTES: u64 = 4096;

const FILL_ROUNDS_MAX: u32 = 100;

/// How often a disk must be found full in a row.
const QUIET_LOOKS: u32 = 10;
