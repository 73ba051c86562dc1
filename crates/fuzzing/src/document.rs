//! Documents of the other dialects, in JSON and in YAML: told, checked, printed, and decided on.

use adjutant_core::aof::Incoming;
use adjutant_core::constraints::WorkspaceFacts;
use adjutant_core::dialect::{self, DocumentKind};
use adjutant_core::input::{Facts, Input, Token};
use adjutant_core::{Reason, TaskId};
use adjutant_store::yaml;
use serde_json::Value;

use crate::given;
use crate::message::{check_decision, check_files};

/// A document in order is printed so that it reads the same; one that is not is refused with words.
pub fn document(bytes: &[u8]) {
    let incoming = dialect::read(bytes, &yaml::read);
    match &incoming {
        Incoming::Document(sent) => {
            let kind = sent.document.kind();
            let object = sent.document.object();
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
        Incoming::Refused(refusal) => {
            assert!(!refusal.problems.is_empty(), "a refusal says what is wrong");
            let one_line = |text: &str| !text.contains(['\n', '\r']);
            if refusal.reason == Reason::InvalidYaml {
                let shown = refusal.problems.iter().map(ToString::to_string);
                assert!(shown.into_iter().all(|text| one_line(&text)), "a problem is one line");
            }
        }
        Incoming::Ignored | Incoming::Unknown { .. } | Incoming::Message(_) => {}
    }
    for kind in DocumentKind::ALL {
        let _ = dialect::read_as(kind, bytes, &yaml::read);
    }
    let world = given::world();
    for facts in facts() {
        check_decision(&world, &Input::Message { incoming: incoming.clone(), facts });
    }
    check_files(bytes);
}

/// Returns what may be found on disk about a document.
fn facts() -> [Facts; 3] {
    let seen = WorkspaceFacts {
        files_changed: vec!["a".to_owned(), "b".to_owned()],
        commits: 1,
        manifests_changed: vec!["Cargo.lock".to_owned()],
        outputs_missing: vec!["docs/api.md".to_owned()],
        unchecked: None,
    };
    let task = TaskId::parse(given::LEASED).expect("a good id");
    [
        Facts { workspace: Some(seen), ..Facts::default() },
        Facts { token: Token::Run { task: task.clone(), fence: 3 }, ..Facts::default() },
        Facts { token: Token::Run { task, fence: 2 }, ..Facts::default() },
    ]
}
