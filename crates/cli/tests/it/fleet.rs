//! A fleet as it is used: several nodes with real daemons, agents and servers, and everything that
//! can happen to them.

mod diary;
mod estate;
mod messages;
mod misfortune;
mod node;
mod orders;
mod wire;

mod alike;
mod altered;
mod chaos;
mod clocks;
mod cut_off;
mod dead;
mod draining;
mod failover;
mod frozen;
mod full;
mod keys;
mod labels;
mod last_words;
mod locked;
mod manual;
mod moved;
mod reach;
mod rights;
mod secrets;
mod status;
mod story;
mod together;
mod versions;
