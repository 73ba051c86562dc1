//! Keeps words out of the project that leave a reader guessing who or what is meant; see
//! `docs/dev/writing.md`.
//!
//! Scans what people read: string literals and doc comments of the source (clap and schemars print
//! doc comments), the assets beside it, the pages, and the golden files, which have all output.

use std::fs;
use std::path::{Path, PathBuf};

/// Each has a plain word in its place: the agent, the daemon, the operator, a heartbeat, a result.
const FORBIDDEN: [&str; 6] =
    ["somebody", "nobody", "whoever", "gone on with", "sign of life", "what came of"];

/// The scanned folders, and files at the top of the repository.
const SCANNED: [&str; 9] = [
    "crates",
    "xtask/src",
    "docs",
    "golden",
    "contrib",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "ARCHITECTURE.md",
];

/// Files of other types, such as pictures and fonts, have no words.
const EXTENSIONS: [&str; 18] = [
    "1",
    "bash",
    "css",
    "elvish",
    "fish",
    "html",
    "js",
    "json",
    "jsonl",
    "md",
    "powershell",
    "rs",
    "service",
    "sh",
    "toml",
    "txt",
    "yaml",
    "zsh",
];

/// Files that may contain such words, each for a reason.
const EXCEPTIONS: [(&str, &str); 3] = [
    ("docs/dev/writing.md", "it names the words that are not used"),
    ("docs/dev/examples.md", "it shows old texts beside their replacements"),
    ("docs/glossary.md", "its last column lists words that are not used"),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Adds the files below a path, except the tests of a crate and what cargo builds.
fn collect_files(path: &Path, files: &mut Vec<PathBuf>) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if path.is_dir() {
        if ["tests", "target", "node_modules"].contains(&name) && !path.ends_with("src/tests") {
            return;
        }
        let mut inner: Vec<PathBuf> = fs::read_dir(path)
            .expect("the folder can be read")
            .map(|entry| entry.expect("the entry can be read").path())
            .collect();
        inner.sort();
        for path in &inner {
            collect_files(path, files);
        }
    } else if path.extension().is_none_or(|it| EXTENSIONS.iter().any(|known| it == *known)) {
        files.push(path.to_owned());
    }
}

/// Returns a line as it is read: without the marks of a comment and of a string that continues, and
/// empty if it is a comment for programmers alone.
fn visible_text(line: &str, is_rust: bool) -> &str {
    let line = line.trim();
    if !is_rust {
        return line;
    }
    match line.strip_prefix("//") {
        Some(doc) if doc.starts_with(['/', '!']) => doc[1..].trim(),
        Some(_) => "",
        None => line.trim_end_matches('\\').trim_end(),
    }
}

/// Says whether a text contains a phrase that begins within its first `start` bytes. An identifier
/// that contains a forbidden word is a name, not a text.
fn has_phrase(text: &str, phrase: &str, start: usize) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        at < start && !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Returns where a text has a forbidden phrase, which may be broken over two lines.
fn find_phrases(path: &str, text: &str) -> Vec<String> {
    let is_rust = Path::new(path).extension().is_some_and(|it| it == "rs");
    let lines: Vec<String> =
        text.lines().map(|line| visible_text(line, is_rust).to_lowercase()).collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let next = lines.get(number + 1).map_or("", String::as_str);
        let both = format!("{line} {next}");
        for phrase in FORBIDDEN.iter().filter(|phrase| has_phrase(&both, phrase, line.len())) {
            found.push(format!("{path}:{}: {phrase}: {line}", number + 1));
        }
    }
    found
}

#[test]
fn texts_name_the_person_or_thing_that_is_meant() {
    let root = root();
    let mut files = Vec::new();
    for scanned in SCANNED {
        collect_files(&root.join(scanned), &mut files);
    }
    assert!(files.len() > 1000, "only {} files were found", files.len());
    let mut found = Vec::new();
    for file in files {
        let path = file.strip_prefix(&root).expect("it is inside").to_string_lossy().into_owned();
        if EXCEPTIONS.iter().any(|(exception, _)| path == *exception) {
            continue;
        }
        let text = fs::read(&file).expect("the file can be read");
        found.extend(find_phrases(&path, &String::from_utf8_lossy(&text)));
    }
    assert!(found.is_empty(), "{} places:\n{}", found.len(), found.join("\n"));
}

#[test]
fn exceptions_exist_and_are_needed() {
    for (path, reason) in EXCEPTIONS {
        let text = fs::read_to_string(root().join(path)).expect("the exception exists");
        assert!(!find_phrases(path, &text).is_empty(), "{path} needs no exception: {reason}");
    }
}

#[test]
fn forbidden_phrase_is_found_in_strings_and_docs_only() {
    let count = |text: &str| find_phrases("a.rs", text).len();
    assert_eq!(count("let text = \"Nobody is there\";"), 1);
    assert_eq!(count("/// Give a sign of\n/// life, and whoever"), 2);
    assert_eq!(count("\"say what came \\\n    of it\""), 1);
    assert_eq!(count("// Nobody reads this.\nlet of_nobody = 1;"), 0);
    assert_eq!(find_phrases("a.md", "// somebody").len(), 1);
}
