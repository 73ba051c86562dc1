//! The files that declare a project's dependencies.

/// The names of manifests and lock files, by ecosystem. A `*` stands for any text.
///
/// The documentation has this table too; a test compares the two.
pub const MANIFESTS: [(&str, &[&str]); 17] = [
    ("Rust", &["Cargo.toml", "Cargo.lock"]),
    (
        "JavaScript",
        &[
            "package.json",
            "package-lock.json",
            "npm-shrinkwrap.json",
            "yarn.lock",
            "pnpm-lock.yaml",
            "pnpm-workspace.yaml",
            "bun.lock",
            "bun.lockb",
        ],
    ),
    ("Deno", &["deno.json", "deno.jsonc", "deno.lock"]),
    (
        "Python",
        &[
            "pyproject.toml",
            "poetry.lock",
            "uv.lock",
            "pdm.lock",
            "pylock*.toml",
            "requirements*.txt",
            "requirements*.in",
            "constraints*.txt",
            "Pipfile",
            "Pipfile.lock",
            "setup.py",
            "setup.cfg",
            "environment.yml",
            "environment.yaml",
        ],
    ),
    ("Go", &["go.mod", "go.sum", "go.work", "go.work.sum"]),
    ("Ruby", &["Gemfile", "Gemfile.lock", "gems.rb", "gems.locked", "*.gemspec"]),
    ("PHP", &["composer.json", "composer.lock"]),
    (
        "Java and Kotlin",
        &[
            "pom.xml",
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            "settings.gradle.kts",
            "gradle.lockfile",
            "*.versions.toml",
        ],
    ),
    ("Scala", &["build.sbt", "build.sc"]),
    (
        ".NET",
        &[
            "*.csproj",
            "*.fsproj",
            "*.vbproj",
            "packages.config",
            "packages.lock.json",
            "Directory.Packages.props",
            "paket.dependencies",
            "paket.lock",
        ],
    ),
    ("Elixir and Erlang", &["mix.exs", "mix.lock", "rebar.config", "rebar.lock"]),
    ("Dart", &["pubspec.yaml", "pubspec.lock"]),
    (
        "Swift",
        &[
            "Package.swift",
            "Package.resolved",
            "Podfile",
            "Podfile.lock",
            "Cartfile",
            "Cartfile.resolved",
        ],
    ),
    ("Nix", &["flake.nix", "flake.lock"]),
    ("C and C++", &["conanfile.txt", "conanfile.py", "conan.lock", "vcpkg.json"]),
    (
        "Haskell",
        &["*.cabal", "cabal.project", "cabal.project.freeze", "stack.yaml", "stack.yaml.lock"],
    ),
    ("git", &[".gitmodules"]),
];

/// Returns whether a path is a manifest or a lock file.
pub fn is_manifest(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    MANIFESTS.iter().flat_map(|(_, names)| *names).any(|pattern| fits(pattern, name))
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            let long_enough = name.len() >= start.len() + end.len();
            long_enough && name.starts_with(start) && name.ends_with(end)
        }
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifest_is_recognized_in_any_folder() {
        for path in [
            "Cargo.toml",
            "crates/core/Cargo.toml",
            "web/package-lock.json",
            "requirements.txt",
            "requirements-dev.txt",
            "src/App/App.csproj",
            "gradle/libs.versions.toml",
            "a b/go.sum",
        ] {
            assert!(is_manifest(path), "{path}");
        }
    }

    #[test]
    fn manifest_is_not_a_similar_name() {
        for path in [
            "",
            "Cargo.toml/x",
            "cargo.toml",
            "my-Cargo.toml",
            "Cargo.toml.orig",
            "docs/requirements.md",
            "package.json5",
            "csproj",
        ] {
            assert!(!is_manifest(path), "{path}");
        }
    }
}
