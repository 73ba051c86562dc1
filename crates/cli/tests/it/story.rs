//! Stories as a person or a script drives them: real processes on the files of real projects.

mod support;
mod up;

mod whole;

mod auto;
mod board;
mod check;
mod commands;
mod hook;
mod init;
mod several;

mod at_once;
mod killed;
mod others;
