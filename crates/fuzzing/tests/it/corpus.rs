//! Replays every saved input, and a few hundred mutations of them for each target, without
//! libFuzzer.

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::{env, fs};

use adjutant_fuzzing::{FuzzTarget, TARGETS};
use adjutant_test_support::soak::cases;

/// Mutated inputs for each target; `cargo xtask soak` asks for more.
const MUTATIONS: u64 = 400;

/// Targets that use the disk get one input in so many.
const SLOW_TARGETS: [(&str, u64); 1] = [("folder", 10)];

macro_rules! replayed {
    ($($name:ident)+) => {$(
        #[test]
        fn $name() {
            replay(stringify!($name));
        }
    )+};
}

replayed! {
    agent_stream document event_line folder front_matter message names proxy_request redaction
    run_result story_paper story_rules story_state task_file test_output work_log
}

#[test]
fn target_has_exactly_one_binary_and_corpus() {
    let mut names: Vec<&str> = TARGETS.map(|target| target.name).to_vec();
    names.sort_unstable();
    assert_eq!(list_folder("corpus"), names);
    let binaries: Vec<String> = names.iter().map(|name| format!("{name}.rs")).collect();
    assert_eq!(list_folder("fuzz_targets"), binaries);
    for name in names {
        let call = format!("fuzz_target!(|bytes: &[u8]| adjutant_fuzzing::{name}(bytes));");
        let binary = fs::read_to_string(fuzz_folder().join(format!("fuzz_targets/{name}.rs")));
        assert!(binary.expect("a binary").contains(&call), "{name}.rs calls its target");
        let manifest = fs::read_to_string(fuzz_folder().join("Cargo.toml")).expect("a manifest");
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is in Cargo.toml");
    }
}

fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    let corpus = corpus(name);
    let broken = corpus.iter().filter(|(_, bytes)| panics_on(target, bytes));
    let broken: Vec<&PathBuf> = broken.map(|(path, _)| path).collect();
    assert!(broken.is_empty(), "{name} broke on inputs that are kept: {broken:#?}");

    let share = SLOW_TARGETS.iter().find(|(slow, _)| *slow == name).map_or(1, |(_, share)| *share);
    let made_up = cases(MUTATIONS) / share;
    for seed in first_seed()..first_seed() + made_up {
        let bytes = mutate_input(&corpus, &mut SplitMixRng(seed));
        if panics_on(target, &bytes) {
            let kept = save_input(name, &bytes);
            panic!("{name} broke on seed {seed}; the input is in {}", kept.display());
        }
    }
}

fn panics_on(target: &FuzzTarget, bytes: &[u8]) -> bool {
    panic::catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))).is_err()
}

/// Saves an input that broke a target and returns its path.
fn save_input(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("broke-{name}"));
    fs::write(&path, bytes).expect("a place for the input");
    path
}

/// Every run uses the same seeds, unless `ADJUTANT_FUZZ_SEED` names another first one.
fn first_seed() -> u64 {
    env::var("ADJUTANT_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

/// Mutates a saved input: changes a few bytes and sometimes inserts a piece of another input.
fn mutate_input(corpus: &[(PathBuf, Vec<u8>)], random: &mut SplitMixRng) -> Vec<u8> {
    let mut bytes = corpus[random.below(corpus.len())].1.clone();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = bytes.len().min(at + random.below(9));
        match random.below(6) {
            0 => drop(bytes.drain(at..end)),
            1 => bytes.insert(at, random.byte()),
            2 => bytes.splice(at..end, random.odd_text().bytes()).for_each(drop),
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

/// A small random number generator (splitmix64); a seed always gives the same numbers.
struct SplitMixRng(u64);

impl SplitMixRng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`, which must not be 0.
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("below a usize")
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    /// Returns a text that parsers often handle wrongly.
    fn odd_text(&mut self) -> &'static str {
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

/// Returns the saved inputs of a target, sorted by name.
fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = format!("corpus/{name}");
    let read = |file: &String| {
        let path = fuzz_folder().join(&folder).join(file);
        let bytes = fs::read(&path).expect("an input");
        (path, bytes)
    };
    let corpus: Vec<_> = list_folder(&folder).iter().map(read).collect();
    assert!(!corpus.is_empty(), "{name} has no corpus");
    corpus
}

fn list_folder(folder: &str) -> Vec<String> {
    let names = fs::read_dir(fuzz_folder().join(folder)).expect("a folder");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("a name").file_name();
    let mut names: Vec<String> =
        names.map(|entry| name(entry).into_string().expect("a name in UTF-8")).collect();
    names.sort_unstable();
    names
}

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}
