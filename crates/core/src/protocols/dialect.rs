//! The dialects other than AOF/1: parsing of their documents and reports.

mod read;
mod report;

pub use read::{YamlParser, read, read_as, read_left_file};
pub use report::DialectReport;

use adjutant_model::dialect::{DialectRow, ProtocolDialect, find_mapping};
use adjutant_model::document::{DocumentKind, ProtocolDocument};
