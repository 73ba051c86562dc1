//! Work trees, with real git: what is saved comes back, and nothing an agent left is run.

mod evil;
mod landing;
mod saved;
mod support;
