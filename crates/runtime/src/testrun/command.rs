//! Which command runs a project's tests.

use std::path::Path;

use serde_json::Value;

use super::Format;

/// A command, for a shell, and the form of what it prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCommand {
    /// The command.
    pub line: String,
    /// The form of what it prints, where that is known.
    pub format: Option<Format>,
}

/// Finds the command from the files of a project.
pub fn find(root: &Path) -> Option<TestCommand> {
    let has = |name: &str| root.join(name).is_file();
    let of = |line: &str, format| Some(TestCommand { line: line.to_owned(), format: Some(format) });
    if has("go.mod") {
        return of("go test -json ./...", Format::Go);
    }
    if has("Cargo.toml") {
        return of("cargo test --no-fail-fast", Format::Cargo);
    }
    if has("package.json") {
        return package(root);
    }
    if ["pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "setup.py"]
        .iter()
        .any(|name| has(name))
    {
        return of(python(root), Format::Pytest);
    }
    None
}

/// A command for people and checks, and the file it was found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plain {
    /// The command.
    pub line: String,
    /// The file.
    pub file: &'static str,
}

/// Files that say how a project is tested, and the command for it.
const PLAIN: [(&str, &str); 12] = [
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

/// Finds the command that a person would run the tests of a project by. What a project says itself
/// counts before what is usual.
pub fn plain(root: &Path) -> Option<Plain> {
    let found = |line: String, file| Some(Plain { line, file });
    if let Some(line) = script(root, "package.json").map(|_| manager(root)) {
        return found(format!("{line} test"), "package.json");
    }
    let usual = PLAIN.iter().find(|(file, _)| root.join(file).is_file());
    if let Some((file, line)) = usual {
        return found((*line).to_owned(), file);
    }
    if let Some(file) = pytest(root) {
        return found(python(root).to_owned(), file);
    }
    if script(root, "composer.json").is_some() {
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

/// Returns the test script of a package, if it has one of its own.
fn script(root: &Path, file: &str) -> Option<String> {
    let text = std::fs::read_to_string(root.join(file)).ok()?;
    let package: Value = serde_json::from_str(&text).ok()?;
    let script = &package["scripts"]["test"];
    let line = script.as_str().or_else(|| script.get(0)?.as_str())?.to_owned();
    (!line.contains("no test specified")).then_some(line)
}

/// Returns what a package of JavaScript is managed by.
fn manager(root: &Path) -> &'static str {
    let locks = [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun run"),
        ("bun.lockb", "bun run"),
    ];
    let found = locks.iter().find(|(lock, _)| root.join(lock).is_file());
    found.map_or("npm", |(_, manager)| manager)
}

/// Returns the file that says that a project is tested by pytest.
fn pytest(root: &Path) -> Option<&'static str> {
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

/// Says whether a file has rules to make something, one of which is called `test`.
fn has_target(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().any(|line| {
        let name = line.split([':', ' ']).next().unwrap_or_default();
        name == "test" && line.contains(':') && !line.contains(":=")
    })
}

/// The project's own environment, if there is one, has what its tests need.
fn python(root: &Path) -> &'static str {
    if root.join(".venv/bin/python").exists() {
        return ".venv/bin/python -m pytest";
    }
    "python3 -m pytest"
}

fn package(root: &Path) -> Option<TestCommand> {
    let text = std::fs::read_to_string(root.join("package.json")).ok()?;
    let package: Value = serde_json::from_str(&text).ok()?;
    let needs = |name: &str| {
        ["devDependencies", "dependencies"].iter().any(|list| package[list].get(name).is_some())
    };
    let command = |line: &str, format| Some(TestCommand { line: line.to_owned(), format });
    if needs("vitest") {
        return command("npx --no-install vitest run --reporter=json", Some(Format::Jest));
    }
    if needs("jest") {
        return command("npx --no-install jest --json", Some(Format::Jest));
    }
    let script = package["scripts"]["test"].as_str()?;
    let real = !script.contains("no test specified");
    if real { command("npm test --silent", None) } else { None }
}
