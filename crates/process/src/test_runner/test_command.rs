//! Finds the command that runs a project's tests.

use std::path::Path;

use serde_json::Value;

use super::TestFormat;

/// A shell command, and the format of its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCommand {
    pub line: String,
    /// `None` if the format is not known.
    pub format: Option<TestFormat>,
}

/// Finds a test command whose output can be parsed, from the project's files.
pub fn find(root: &Path) -> Option<TestCommand> {
    let has = |name: &str| root.join(name).is_file();
    let of = |line: &str, format| Some(TestCommand { line: line.to_owned(), format: Some(format) });
    if has("go.mod") {
        return of("go test -json ./...", TestFormat::Go);
    }
    if has("Cargo.toml") {
        return of("cargo test --no-fail-fast", TestFormat::Cargo);
    }
    if has("package.json") {
        return package_command(root);
    }
    if ["pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "setup.py"]
        .iter()
        .any(|name| has(name))
    {
        return of(pytest_command(root), TestFormat::Pytest);
    }
    None
}

/// Every command that [`find`] can return. Files of a project choose among them, and none of them
/// has a part that comes from a file.
const FOUND_COMMANDS: [&str; 7] = [
    "go test -json ./...",
    "cargo test --no-fail-fast",
    ".venv/bin/python -m pytest",
    "python3 -m pytest",
    "npx --no-install vitest run --reporter=json",
    "npx --no-install jest --json",
    "npm test --silent",
];

/// Returns whether a command is one that [`find`] returns.
pub fn is_found_command(line: &str) -> bool {
    FOUND_COMMANDS.contains(&line)
}

/// A test command for people and checks, and the file that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainTestCommand {
    pub line: String,
    pub file: &'static str,
}

/// Files that identify a kind of project, and its usual test command.
const USUAL_COMMANDS: [(&str, &str); 12] = [
    ("Cargo.toml", "cargo test"),
    ("go.mod", "go test ./..."),
    ("mix.exs", "mix test"),
    ("Package.swift", "swift test"),
    ("deno.json", "deno test"),
    ("deno.jsonc", "deno test"),
    ("gradlew", "./gradlew test"),
    ("mvnw", "./mvnw -q test"),
    ("pom.xml", "mvn -q test"),
    ("build.sbt", "sbt test"),
    (".rspec", "bundle exec rspec"),
    ("build.zig", "zig build test"),
];

/// Finds the command with which a person would run the tests. A project's own test script comes
/// before the usual command.
pub fn find_plain(root: &Path) -> Option<PlainTestCommand> {
    let found = |line: String, file| Some(PlainTestCommand { line, file });
    if let Some(line) = test_script(root, "package.json").map(|_| package_manager(root)) {
        return found(format!("{line} test"), "package.json");
    }
    let usual = USUAL_COMMANDS.iter().find(|(file, _)| root.join(file).is_file());
    if let Some((file, line)) = usual {
        return found((*line).to_owned(), file);
    }
    if let Some(file) = pytest_file(root) {
        return found(pytest_command(root).to_owned(), file);
    }
    if test_script(root, "composer.json").is_some() {
        return found("composer test".to_owned(), "composer.json");
    }
    let made = ["GNUmakefile", "makefile", "Makefile"];
    if let Some(file) = made.into_iter().find(|file| has_target(&root.join(file))) {
        return found("make test".to_owned(), file);
    }
    let just = ["justfile", "Justfile", ".justfile"];
    let file = just.into_iter().find(|file| has_target(&root.join(file)))?;
    found("just test".to_owned(), file)
}

/// Returns the test script of a package; `None` if it is npm's placeholder.
fn test_script(root: &Path, file: &str) -> Option<String> {
    let text = std::fs::read_to_string(root.join(file)).ok()?;
    let package: Value = serde_json::from_str(&text).ok()?;
    let script = &package["scripts"]["test"];
    let line = script.as_str().or_else(|| script.get(0)?.as_str())?.to_owned();
    (!line.contains("no test specified")).then_some(line)
}

/// Returns the JavaScript package manager.
fn package_manager(root: &Path) -> &'static str {
    let locks = [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun run"),
        ("bun.lockb", "bun run"),
    ];
    let found = locks.iter().find(|(lock, _)| root.join(lock).is_file());
    found.map_or("npm", |(_, manager)| manager)
}

/// Returns the file that shows that the project uses pytest.
fn pytest_file(root: &Path) -> Option<&'static str> {
    if root.join("pytest.ini").is_file() {
        return Some("pytest.ini");
    }
    let says = |file: &&str| {
        std::fs::read_to_string(root.join(file)).is_ok_and(|text| text.contains("pytest"))
    };
    let files = ["pyproject.toml", "setup.cfg", "tox.ini", "requirements-dev.txt"];
    let named = files.into_iter().find(says);
    let project = || {
        let files = ["pyproject.toml", "setup.py", "setup.cfg"];
        let file = files.into_iter().find(|file| root.join(file).is_file())?;
        root.join("tests").is_dir().then_some(file)
    };
    named.or_else(project)
}

/// Returns whether a makefile or justfile has a target named `test`.
fn has_target(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().any(|line| {
        let name = line.split([':', ' ']).next().unwrap_or_default();
        name == "test" && line.contains(':') && !line.contains(":=")
    })
}

/// The project's virtual environment, if any, has the dependencies of its tests.
fn pytest_command(root: &Path) -> &'static str {
    if root.join(".venv/bin/python").exists() {
        return ".venv/bin/python -m pytest";
    }
    "python3 -m pytest"
}

fn package_command(root: &Path) -> Option<TestCommand> {
    let text = std::fs::read_to_string(root.join("package.json")).ok()?;
    let package: Value = serde_json::from_str(&text).ok()?;
    let needs = |name: &str| {
        ["devDependencies", "dependencies"].iter().any(|list| package[list].get(name).is_some())
    };
    let command = |line: &str, format| Some(TestCommand { line: line.to_owned(), format });
    if needs("vitest") {
        return command("npx --no-install vitest run --reporter=json", Some(TestFormat::Jest));
    }
    if needs("jest") {
        return command("npx --no-install jest --json", Some(TestFormat::Jest));
    }
    let script = package["scripts"]["test"].as_str()?;
    let real = !script.contains("no test specified");
    if real { command("npm test --silent", None) } else { None }
}
