//! The tokens under which processes of this folder claimed the node's name: if the fleet still has
//! one of them, this folder had the name last, and no other machine.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use adjutant_model::NodeId;
use adjutant_process::atomic_file;
use adjutant_store::StoreError;

/// The file with the claims, beside the journal: it belongs to this machine
/// and is never replicated.
const FILE: &str = "journal/name";

/// The token under which this process claims the name, and those of earlier
/// processes of this folder.
#[derive(Debug)]
pub struct NodeNameClaims {
    path: PathBuf,
    node: NodeId,
    own: String,
    earlier: Vec<String>,
    /// Lines about other node names.
    others: Vec<String>,
}

impl NodeNameClaims {
    /// Reads the claims of earlier processes. An unreadable file counts as empty.
    pub fn new(root: &Path, node: NodeId, own: String) -> Self {
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

    /// Returns the token under which this process claims the name.
    pub fn own_token(&self) -> &str {
        &self.own
    }

    /// Returns whether an earlier process of this folder claimed the name under this token.
    pub fn is_earlier_claim(&self, text: &str) -> bool {
        self.earlier.iter().any(|earlier| earlier == text)
    }

    /// Writes the new token before the name is claimed under it. If the process is killed in
    /// between, the folder is recognized by either token.
    pub fn record_intent(&self) -> Result<(), StoreError> {
        self.put(self.earlier.iter().chain([&self.own]))
    }

    /// Records that this process has the name, and forgets earlier tokens.
    pub fn record_owned(&self) -> Result<(), StoreError> {
        self.put([&self.own])
    }

    /// Writes the file durably: the fleet keeps its copy through a power cut, so
    /// this folder must too.
    fn put<'a>(&self, texts: impl IntoIterator<Item = &'a String>) -> Result<(), StoreError> {
        let own = texts.into_iter().map(|text| format!("{} {text}\n", self.node));
        let others = self.others.iter().map(|line| format!("{line}\n"));
        let all: String = others.chain(own).collect();
        let put = atomic_file::write_atomic(&self.path, all.as_bytes()).and_then(|()| {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            File::open(folder)?.sync_all()
        });
        put.map_err(StoreError::io("write", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use adjutant_model::NodeId;

    use super::NodeNameClaims;

    #[test]
    fn node_name_claims_of_folder_are_remembered_by_name() {
        let root = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(root.path().join("journal")).expect("a folder");
        let holder = |name: &str, own: &str| {
            let node = NodeId::parse(name).expect("a good name");
            NodeNameClaims::new(root.path(), node, own.to_owned())
        };
        assert!(!holder("desk", "a").is_earlier_claim("a"), "it has not been had yet");
        holder("desk", "a").record_owned().expect("written");
        holder("lamp", "l").record_owned().expect("written");
        // This process is killed before it claims the name, and so is the next.
        holder("desk", "b").record_intent().expect("written");
        holder("desk", "c").record_intent().expect("written");
        let last = holder("desk", "d");
        assert!(["a", "b", "c"].iter().all(|text| last.is_earlier_claim(text)));
        assert!(
            !last.is_earlier_claim("l")
                && !last.is_earlier_claim("e")
                && !last.is_earlier_claim("")
        );
        last.record_owned().expect("written");
        assert!(
            !holder("desk", "e").is_earlier_claim("a"),
            "what was had before is another's by now"
        );
        assert!(
            holder("lamp", "m").is_earlier_claim("l"),
            "a name that is not used is not forgotten"
        );
    }
}
