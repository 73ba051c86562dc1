//! Golden files of every command's output, as JSON and as text, for success and refusal.

use std::collections::BTreeMap;

use adjutant_test_support::golden::GoldenFolder;

use super::cases;
use super::commands::all_commands;
use super::project::GoldenProject;
use super::transcript::{CommandTranscript, OutputForm};

/// Commands without a golden file, with the reason.
const WITHOUT_CASE: [(&str, &str); 1] =
    [("demo", "plays a crew of agents for many seconds; its lines depend on how fast they are")];

/// Runs every scenario on its own projects, and returns the recorded calls by command.
fn record(form: OutputForm, commands: &[String]) -> BTreeMap<String, String> {
    let run = |scenario: &cases::GoldenScenario| {
        let mut transcript = CommandTranscript::new(form, commands);
        scenario(&mut transcript);
        transcript.into_recorded()
    };
    let recorded: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            cases::SCENARIOS.iter().map(|scenario| scope.spawn(move || run(scenario))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(recorded) => recorded,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(join).collect()
    });
    let mut files = BTreeMap::<String, Vec<String>>::new();
    for (command, texts) in recorded.into_iter().flatten() {
        files.entry(command).or_default().extend(texts);
    }
    files.into_iter().map(|(command, texts)| (command, texts.join("\n"))).collect()
}

fn check(form: OutputForm, folder: &str) {
    let commands = all_commands(&GoldenProject::empty());
    let names: Vec<String> = commands.iter().map(|command| command.name.clone()).collect();
    let recorded = record(form, &names);
    for command in commands.iter().filter(|command| command.is_runnable()) {
        let excepted = WITHOUT_CASE.iter().any(|(name, _)| *name == command.name);
        let has_case = recorded.contains_key(&command.name);
        assert!(has_case || excepted, "`adjutant {}` has no case in golden/cases", command.name);
        assert!(!has_case || !excepted, "`adjutant {}` has a case by now", command.name);
    }
    let mut folder = GoldenFolder::new(folder);
    for (command, text) in recorded {
        let file =
            if command.is_empty() { "adjutant".to_owned() } else { command.replace(' ', "-") };
        folder.add(format!("{file}.txt"), text);
    }
    folder.check();
}

#[test]
fn json_output_matches_golden_files() {
    check(OutputForm::Json, "json");
}

#[test]
fn text_output_matches_golden_files() {
    check(OutputForm::Text, "text");
}
