//! The child of the crash matrix: does one operation on one project, and dies where the environment
//! says.

use std::path::PathBuf;

use adjutant_testkit::crash_child::CrashChild;
use adjutant_testkit::folder_operation::FolderOperation;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let home = PathBuf::from(arguments.next().expect("a project"));
    let operation = FolderOperation::by_name(&arguments.next().expect("an operation"));
    (operation.run)(&mut CrashChild::open_engine(&home));
}
