//! Fuzz target: documents of the other dialects, in JSON and YAML, are detected, checked, printed
//! and decided on.

use adjutant_core::input::{Input, MessageFacts, TokenOwner};
use adjutant_core::protocols::aof::IncomingText;
use adjutant_core::protocols::dialect;
use adjutant_model::constraints::WorkspaceFacts;
use adjutant_model::document::DocumentKind;
use adjutant_model::{Reason, TaskId};
use adjutant_store::yaml;
use serde_json::Value;

use crate::fixture;
use crate::message::{check_decision, check_files};

/// A valid document reads the same after printing; an invalid one is refused with problems.
pub fn document(bytes: &[u8]) {
    let incoming = dialect::read(bytes, &yaml::read);
    match &incoming {
        IncomingText::Document(sent) => {
            let kind = sent.document.kind();
            let object = sent.document.to_map();
            let json = Value::Object(object.clone()).to_string();
            let again = dialect::read_as(kind, json.as_bytes(), &yaml::read);
            let (again, warnings) = again.expect("what is printed reads");
            assert_eq!((&again, &warnings[..]), (&sent.document, &[][..]), "as it was");
            let printed = yaml::print(&object);
            assert_eq!(
                yaml::read(&printed).as_ref(),
                Ok(&object),
                "YAML reads the same: {printed}"
            );
        }
        IncomingText::Refused(refusal) => {
            assert!(!refusal.problems.is_empty(), "a refusal says what is wrong");
            let one_line = |text: &str| !text.contains(['\n', '\r']);
            if refusal.reason == Reason::InvalidYaml {
                let shown = refusal.problems.iter().map(ToString::to_string);
                assert!(shown.into_iter().all(|text| one_line(&text)), "a problem is one line");
            }
        }
        IncomingText::Ignored | IncomingText::Unknown { .. } | IncomingText::Message(_) => {}
    }
    for kind in DocumentKind::ALL {
        let _ = dialect::read_as(kind, bytes, &yaml::read);
    }
    let world = fixture::world();
    for facts in facts() {
        check_decision(&world, &Input::Message { incoming: incoming.clone(), facts });
    }
    check_files(bytes);
}

/// Facts that may be found on disk about a document.
fn facts() -> [MessageFacts; 3] {
    let seen = WorkspaceFacts {
        files_changed: vec!["a".to_owned(), "b".to_owned()],
        commits: 1,
        manifests_changed: vec!["Cargo.lock".to_owned()],
        outputs_missing: vec!["docs/api.md".to_owned()],
        unverified_reason: None,
    };
    let task = TaskId::parse(fixture::LEASED).expect("a good id");
    [
        MessageFacts { workspace: Some(seen), ..MessageFacts::default() },
        MessageFacts {
            token: TokenOwner::Run { nonce: None, task: task.clone(), fence: 3 },
            ..MessageFacts::default()
        },
        MessageFacts {
            token: TokenOwner::Run { nonce: None, task, fence: 2 },
            ..MessageFacts::default()
        },
    ]
}
