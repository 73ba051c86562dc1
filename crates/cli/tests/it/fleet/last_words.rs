//! What an agent said right before its node died: it may have been heard by whoever decides, without
//! the node having learnt that. When it is back, its task is another's, and it must not count twice.

#![expect(clippy::print_stdout, reason = "whether it was heard is worth knowing")]

use std::time::Duration;

use crate::fleet::estate::Estate;
use crate::fleet::messages::{kept, said};
use crate::fleet::node::{accepted_once, until, until_or};

/// The first attempt speaks when it is told to, and works for an hour.
const DOES: &str = "[ $ADJUTANT_ATTEMPT = 1 ] || { work 3; finish 'after all'; exit; }\n\
                    note work; while [ ! -e speak ]; do sleep 0.05; done\n\
                    progress 'last words'; work 36000";

/// How long the node that decides may stand still without being taken for dead, and the other needs
/// to ask it. There is nothing to be seen of a question that is on its way.
const ON_ITS_WAY: Duration = Duration::from_millis(500);

#[test]
fn they_are_kept_once_when_it_is_back() {
    let estate = Estate::whose_agent(DOES);
    let task = estate.add("one");
    let Estate { decides, mut dies, mut heir, diary, .. } = estate;
    until_or("it works", || !diary.units(&task, 1).is_empty(), || dies.shown());

    // The question waits before the door of the node that decides when the one that asks dies.
    decides.freeze();
    std::fs::write(dies.home().join("speak"), "").expect("a file");
    until("it has spoken", || said(&dies) == ["last words"]);
    std::thread::sleep(ON_ITS_WAY);
    dies.kill();
    decides.thaw();
    heir.up();
    until_or("another does it", || heir.count("review") == 1, || heir.said());
    println!("heard while it was dead: {}", kept(&heir).contains_key("last words"));
    dies.up();
    until_or("it was heard", || dies.unheard().is_empty(), || dies.said());
    until("all have the same record", || {
        dies.events() == heir.events() && decides.events() == heir.events()
    });
    for node in [&decides, &dies, &heir] {
        assert_eq!(kept(node).get("last words"), Some(&1), "{}", node.name);
    }
    accepted_once(&heir.events(), &[task]);
}
