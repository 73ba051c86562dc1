//! Fuzz target: a project's step rules override the defaults, or give an error with a line.

use adjutant_model::story::Step;
use adjutant_stories::files::rules;

/// Accepted rules are complete, and an error names a line of the text.
pub fn story_rules(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match rules::merge_over_defaults(text) {
        Ok(rules) => {
            for step in Step::ALL.into_iter().filter(|step| *step != Step::Done) {
                let rule = rules.get(step).expect("every step has a rule");
                assert!(rule.max_attempts >= 1 && (rule.timeout_min >= 1 || rule.requires_human));
            }
        }
        Err(bad) => {
            let lines = u64::try_from(text.split('\n').count()).expect("a number") + 1;
            assert!(bad.line.is_none_or(|line| (1..=lines).contains(&line)), "{bad}");
            assert!(!bad.what.is_empty() && !bad.what.contains('\n'), "{bad:?}");
        }
    }
}
