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
    let has_any = |names: &[&str]| names.iter().any(|name| has(name));
    if has_any(&["pytest.ini", "conftest.py", "tests/conftest.py"])
        || file_naming_pytest(root).is_some()
    {
        return of(pytest_command(root), TestFormat::Pytest);
    }
    if let Some(line) = unittest_command(root) {
        return of(&line, TestFormat::Unittest);
    }
    if has_any(&["pyproject.toml", "setup.cfg", "tox.ini", "setup.py"]) {
        return of(pytest_command(root), TestFormat::Pytest);
    }
    None
}

/// The folders that can have tests of unittest, and the arguments that find them there. Only a
/// folder with `__init__.py` can be imported from the root of the project.
const UNITTEST_FOLDERS: [(&str, &str, &str); 3] = [
    (".", "unittest", "unittest"),
    ("tests", "unittest discover -s tests", "unittest discover -s tests -t ."),
    ("test", "unittest discover -s test", "unittest discover -s test -t ."),
];

const PYTHONS: [&str; 2] = [".venv/bin/python", "python3"];

/// Returns the command for tests that use unittest, if there are any.
fn unittest_command(root: &Path) -> Option<String> {
    let (folder, plain, package) = UNITTEST_FOLDERS.iter().find(|(folder, ..)| {
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        entries.take(ENTRIES_MAX).any(|entry| is_unittest_file(&entry.path()))
    })?;
    let is_package = root.join(folder).join("__init__.py").is_file();
    let [own, usual] = PYTHONS;
    let python = if root.join(own).exists() { own } else { usual };
    Some(format!("{python} -m {}", if is_package { package } else { plain }))
}

/// Returns whether a command is one that [`unittest_command`] returns.
fn is_unittest_command(line: &str) -> bool {
    let module = PYTHONS.iter().find_map(|python| line.strip_prefix(python)?.strip_prefix(" -m "));
    let is_one = |module| {
        UNITTEST_FOLDERS.iter().any(|(_, plain, package)| [*plain, *package].contains(&module))
    };
    module.is_some_and(is_one)
}

/// The most entries of a folder that are looked at.
const ENTRIES_MAX: usize = 1_000;

fn is_unittest_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_python = path.extension().is_some_and(|extension| extension == "py");
    let has_name = name.starts_with("test") && is_python && path.is_file();
    has_name && std::fs::read_to_string(path).is_ok_and(|text| text.contains("unittest"))
}

/// Every command that [`find`] can return, beside those of [`unittest_command`]. Files of a project choose among them, and none of them
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
    FOUND_COMMANDS.contains(&line) || is_unittest_command(line)
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
    let project = || {
        let files = ["pyproject.toml", "setup.py", "setup.cfg"];
        let file = files.into_iter().find(|file| root.join(file).is_file())?;
        root.join("tests").is_dir().then_some(file)
    };
    file_naming_pytest(root).or_else(project)
}

/// Returns the file whose text mentions pytest.
fn file_naming_pytest(root: &Path) -> Option<&'static str> {
    let says = |file: &&str| {
        std::fs::read_to_string(root.join(file)).is_ok_and(|text| text.contains("pytest"))
    };
    let files = ["pyproject.toml", "setup.cfg", "tox.ini", "requirements-dev.txt"];
    files.into_iter().find(says)
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
