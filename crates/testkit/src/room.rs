//! How much room a small disk has left, and how to take it away.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};

/// A disk that can be filled up.
pub struct Room {
    mount: PathBuf,
}

/// What can run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stock {
    /// Space for what files say.
    Blocks,
    /// Space for files, whatever they say.
    Files,
}

impl Room {
    /// Takes a disk by the folder it is mounted at.
    pub fn at(mount: &Path) -> Self {
        Self { mount: mount.to_owned() }
    }

    /// Returns how much of it is left.
    pub fn left(&self, stock: Stock) -> u64 {
        let disk = rustix::fs::statvfs(&self.mount).expect("a disk");
        match stock {
            Stock::Blocks => disk.f_bavail,
            Stock::Files => disk.f_favail,
        }
    }

    /// Takes all but so many blocks or files away.
    pub fn leave(&self, stock: Stock, count: u64) {
        let filler = self.filler();
        let taken = self.left(stock).checked_sub(count).expect("the disk has so much left");
        match stock {
            Stock::Blocks => take_blocks(&filler.join("blocks"), taken),
            Stock::Files => {
                for number in 0..taken {
                    File::create(filler.join(number.to_string())).expect("a file");
                }
            }
        }
        assert_eq!(self.left(stock), count, "a disk can be filled to the last block");
    }

    /// Takes away all there is, while others may be taking some of it.
    pub fn fill(&self) {
        let filler = self.filler();
        let mut number = 0;
        while self.left(Stock::Blocks) > 0 {
            number += 1;
            let file = File::create(filler.join(number.to_string())).expect("a file");
            // Somebody may have been quicker; then there is less to take.
            let bytes = self.left(Stock::Blocks) * BLOCK_BYTES;
            let _ = fallocate(&file, FallocateFlags::empty(), 0, bytes.max(1));
        }
    }

    /// Gives back all that was taken.
    pub fn free(&self) {
        fs::remove_dir_all(self.filler()).expect("a filler");
    }

    fn filler(&self) -> PathBuf {
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
