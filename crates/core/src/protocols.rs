//! The protocols that agents speak: their messages and documents in, work orders out.

pub mod aof;
pub mod dialect;
pub mod work_order;
