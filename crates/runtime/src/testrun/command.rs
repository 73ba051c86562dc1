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
