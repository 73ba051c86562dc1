//! What the processes of this folder had the name of their node under: whoever finds that again with
//! the others knows that it was this folder which had the name last, and no other machine.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use adjutant_core::NodeId;
use adjutant_store::StoreError;

use crate::whole_file;

/// The file that says it, beside the journal: it belongs to this machine and travels nowhere.
const FILE: &str = "journal/name";

/// What this process takes the name under, and what earlier ones of this folder had it under.
#[derive(Debug)]
pub(super) struct Holder {
    path: PathBuf,
    node: NodeId,
    own: String,
    earlier: Vec<String>,
    /// What is noted about other names.
    others: Vec<String>,
}

impl Holder {
    /// Reads what earlier processes left. What cannot be read was left by nobody.
    pub(super) fn new(root: &Path, node: NodeId, own: String) -> Self {
        let path = root.join(FILE);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let of = |line: &str| {
            let (name, text) = line.split_once(' ')?;
            (name == node.as_str()).then(|| text.to_owned())
        };
        let earlier = text.lines().filter_map(of).collect();
        let others = text.lines().filter(|line| of(line).is_none()).map(str::to_owned).collect();
        Self { path, node, own, earlier, others }
    }

    /// Returns what this process takes the name under.
    pub(super) fn own(&self) -> &str {
        &self.own
    }

    /// Says whether this folder had the name of whoever had it under this.
    pub(super) fn is_ours(&self, text: &str) -> bool {
        self.earlier.iter().any(|earlier| earlier == text)
    }

    /// Writes down that the name is about to be had under something else. Whoever is killed in
    /// between is known by either.
    pub(super) fn write_ahead(&self) -> Result<(), StoreError> {
        self.put(self.earlier.iter().chain([&self.own]))
    }

    /// Writes down that this process has the name, and forgets the earlier ones.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        self.put([&self.own])
    }

    /// It survives a power cut: the others do not forget.
    fn put<'a>(&self, texts: impl IntoIterator<Item = &'a String>) -> Result<(), StoreError> {
        let own = texts.into_iter().map(|text| format!("{} {text}\n", self.node));
        let others = self.others.iter().map(|line| format!("{line}\n"));
        let all: String = others.chain(own).collect();
        let put = whole_file::put(&self.path, all.as_bytes()).and_then(|()| {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            File::open(folder)?.sync_all()
        });
        put.map_err(StoreError::io("write", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::NodeId;

    use super::Holder;

    #[test]
    fn a_folder_knows_what_its_processes_had_each_name_under() {
        let root = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(root.path().join("journal")).expect("a folder");
        let holder = |name: &str, own: &str| {
            let node = NodeId::parse(name).expect("a good name");
            Holder::new(root.path(), node, own.to_owned())
        };
        assert!(!holder("desk", "a").is_ours("a"), "it has not been had yet");
        holder("desk", "a").settle().expect("written");
        holder("lamp", "l").settle().expect("written");
        // It is killed before the name is had under something else, and so is the next.
        holder("desk", "b").write_ahead().expect("written");
        holder("desk", "c").write_ahead().expect("written");
        let last = holder("desk", "d");
        assert!(["a", "b", "c"].iter().all(|text| last.is_ours(text)));
        assert!(!last.is_ours("l") && !last.is_ours("e") && !last.is_ours(""));
        last.settle().expect("written");
        assert!(!holder("desk", "e").is_ours("a"), "what was had before is another's by now");
        assert!(holder("lamp", "m").is_ours("l"), "a name that is not used is not forgotten");
    }
}
