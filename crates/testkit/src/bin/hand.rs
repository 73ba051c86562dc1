//! The child of the crash matrix: does one deed to one project, and dies where it is told to.

use std::path::PathBuf;

use adjutant_testkit::deed::Deed;
use adjutant_testkit::hand::Hand;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let home = PathBuf::from(arguments.next().expect("a project"));
    let deed = Deed::named(&arguments.next().expect("a deed"));
    (deed.act)(&mut Hand::open(&home));
}
