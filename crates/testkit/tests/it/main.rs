//! Crashes, power cuts, full disks, many processes and simulations.

mod crash_matrix;
mod folder_lock;
mod full_disk;
mod hostile_run;
mod many_processes;
mod power_cut;
mod sim;
