//! Crashes, power cuts, full disks, many processes and simulated nights.

mod crash_matrix;
mod full_disk;
mod many_processes;
mod night;
mod power_cut;
mod turns;
