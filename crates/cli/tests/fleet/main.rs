//! A fleet as it is used: several nodes with real daemons, agents and servers, and everything that
//! can happen to them.

mod node;
mod wire;

mod chaos;
mod clocks;
mod cut_off;
mod locked;
mod moved;
mod reach;
mod story;
mod together;
