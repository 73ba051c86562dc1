//! What the processes of this folder took the name of their node under: whoever finds that again
//! with the others knows that it was this folder which had the name last, and no other machine.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use adjutant_store::StoreError;

/// The file that says it, beside the journal: it belongs to this machine and travels nowhere.
const FILE: &str = "journal/name";

/// What this process takes the name under, and what earlier ones of this folder did.
#[derive(Debug)]
pub(super) struct Holder {
    path: PathBuf,
    own: String,
    earlier: Vec<String>,
}

impl Holder {
    /// Reads what earlier processes left. What cannot be read was left by nobody.
    pub(super) fn new(root: &Path, own: String) -> Self {
        let path = root.join(FILE);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let earlier = text.lines().map(str::to_owned).collect();
        Self { path, own, earlier }
    }

    /// Returns what this process takes the name under.
    pub(super) fn own(&self) -> &str {
        &self.own
    }

    /// Says whether this folder had the name of whoever took it under this.
    pub(super) fn is_ours(&self, text: &str) -> bool {
        text == self.own || self.earlier.iter().any(|earlier| earlier == text)
    }

    /// Writes down what the name is about to be taken under. Whoever is killed before it is taken
    /// is still known by what it had before.
    pub(super) fn write_ahead(&self) -> Result<(), StoreError> {
        let all = self.earlier.iter().chain([&self.own]);
        self.put(&all.flat_map(|one| [one, "\n"]).collect::<String>())
    }

    /// Forgets the earlier ones, once the name was taken. Where that fails, they stay.
    pub(super) fn settle(&self) {
        let _ = self.put(&format!("{}\n", self.own));
    }

    fn put(&self, text: &str) -> Result<(), StoreError> {
        let new = self.path.with_extension("new");
        let put = write(&new, text).and_then(|()| fs::rename(&new, &self.path));
        put.map_err(StoreError::io("write", &self.path))
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::Holder;

    #[test]
    fn a_folder_knows_what_its_processes_took_the_name_under() {
        let root = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(root.path().join("journal")).expect("a folder");
        let holder = |own: &str| Holder::new(root.path(), own.to_owned());
        let first = holder("a");
        assert!(first.is_ours("a") && !first.is_ours("b"));
        first.write_ahead().expect("written");
        first.settle();
        // It is killed before the name is taken under something else, and so is the next.
        holder("b").write_ahead().expect("written");
        holder("c").write_ahead().expect("written");
        let last = holder("d");
        assert!(["a", "b", "c", "d"].iter().all(|text| last.is_ours(text)));
        assert!(!last.is_ours("e") && !last.is_ours(""));
        last.settle();
        assert!(!holder("e").is_ours("a"), "what was had before is another's by now");
    }
}
