//! Replays every input that is kept, and a few thousand that are nearly those, without libFuzzer.

use std::env;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use adjutant_fuzzing::{TARGETS, Target};
use adjutant_test_support::soak::cases;

/// How many inputs are made up for each target; `cargo xtask soak` asks for more.
const MADE_UP: u64 = 400;

/// A target that goes to the disk gets one in so many.
const SLOW: [(&str, u64); 1] = [("folder", 10)];

macro_rules! replayed {
    ($($name:ident)+) => {$(
        #[test]
        fn $name() {
            replay(stringify!($name));
        }
    )+};
}

replayed! {
    agent_stream document event_line folder front_matter message names run_result story_paper
    story_rules story_state task_file test_output work_log
}

#[test]
fn every_target_has_a_binary_and_a_corpus_and_nothing_else_has() {
    let mut names: Vec<&str> = TARGETS.map(|target| target.name).to_vec();
    names.sort_unstable();
    assert_eq!(listed("corpus"), names);
    let binaries: Vec<String> = names.iter().map(|name| format!("{name}.rs")).collect();
    assert_eq!(listed("fuzz_targets"), binaries);
    for name in names {
        let call = format!("fuzz_target!(|bytes: &[u8]| adjutant_fuzzing::{name}(bytes));");
        let binary = fs::read_to_string(fuzz().join(format!("fuzz_targets/{name}.rs")));
        assert!(binary.expect("a binary").contains(&call), "{name}.rs calls its target");
        let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("a manifest");
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is in Cargo.toml");
    }
}

fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    let corpus = corpus(name);
    let broken = corpus.iter().filter(|(_, bytes)| breaks(target, bytes));
    let broken: Vec<&PathBuf> = broken.map(|(path, _)| path).collect();
    assert!(broken.is_empty(), "{name} broke on inputs that are kept: {broken:#?}");

    let share = SLOW.iter().find(|(slow, _)| *slow == name).map_or(1, |(_, share)| *share);
    let made_up = cases(MADE_UP) / share;
    for seed in first_seed()..first_seed() + made_up {
        let bytes = made_from(&corpus, &mut Random(seed));
        if breaks(target, &bytes) {
            let kept = keep(name, &bytes);
            panic!("{name} broke on seed {seed}; the input is in {}", kept.display());
        }
    }
}

fn breaks(target: &Target, bytes: &[u8]) -> bool {
    panic::catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))).is_err()
}

/// Leaves an input where a person finds it, and says where.
fn keep(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("broke-{name}"));
    fs::write(&path, bytes).expect("a place for the input");
    path
}

/// Every run makes up the same inputs, unless it is told where to start.
fn first_seed() -> u64 {
    env::var("ADJUTANT_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

/// Makes an input of one that is kept: a few bytes changed, and sometimes a piece of another.
fn made_from(corpus: &[(PathBuf, Vec<u8>)], random: &mut Random) -> Vec<u8> {
    let mut bytes = corpus[random.below(corpus.len())].1.clone();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = bytes.len().min(at + random.below(9));
        match random.below(6) {
            0 => drop(bytes.drain(at..end)),
            1 => bytes.insert(at, random.byte()),
            2 => bytes.splice(at..end, random.odd().bytes()).for_each(drop),
            3 => bytes.truncate(at),
            4 => {
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, piece).for_each(drop);
            }
            _ => {
                let other = &corpus[random.below(corpus.len())].1;
                let from = random.below(other.len() + 1);
                let to = other.len().min(from + random.below(200));
                bytes.splice(at..end, other[from..to].iter().copied()).for_each(drop);
            }
        }
    }
    bytes
}

/// A small generator of numbers (splitmix64): the same seed gives the same numbers for good.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`, which is not 0.
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("below a usize")
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    /// Returns a piece of text that parsers stumble over.
    fn odd(&mut self) -> &'static str {
        const ODD: [&str; 32] = [
            "\0",
            "\n",
            "\r\n",
            "\r",
            "\t",
            "\u{feff}",
            "\u{2028}",
            "\u{85}",
            "\\u0000",
            "\\ud800",
            "null",
            "true",
            "-1",
            "1e999",
            "18446744073709551615",
            "[[[[",
            "{",
            "}",
            "\"",
            "'",
            "..",
            "/",
            "~",
            "---\n",
            "```",
            "- ",
            ": ",
            " #",
            "&a ",
            "*a",
            "!!str ",
            "## Work Log\n",
        ];
        ODD[self.below(ODD.len())]
    }
}

/// Returns the inputs that are kept for a target, by name.
fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = format!("corpus/{name}");
    let read = |file: &String| {
        let path = fuzz().join(&folder).join(file);
        let bytes = fs::read(&path).expect("an input");
        (path, bytes)
    };
    let corpus: Vec<_> = listed(&folder).iter().map(read).collect();
    assert!(!corpus.is_empty(), "{name} has no corpus");
    corpus
}

fn listed(folder: &str) -> Vec<String> {
    let names = fs::read_dir(fuzz().join(folder)).expect("a folder");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("a name").file_name();
    let mut names: Vec<String> =
        names.map(|entry| name(entry).into_string().expect("a name in UTF-8")).collect();
    names.sort_unstable();
    names
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}
