//! The filter of system calls in a `strict` sandbox.
//!
//! It refuses what programs rarely need and what has been a way out of sandboxes. Everything else is
//! allowed: namespaces, not this filter, decide what a command sees.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BackendError, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};

/// Calls that are refused with any argument.
const REFUSED: &[i64] = &[
    // Other processes of the same user.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // Keyrings, which all processes of a user share.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Parts of the kernel with a long history of faults, or that bypass this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Namespaces and mounts.
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    // The machine itself.
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
];

/// The flags of `clone` and `unshare` that make a namespace.
const NAMESPACE_FLAGS: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Requests that put input into a terminal: `TIOCSTI` and `TIOCLINUX`.
const TERMINAL_REQUESTS: [u64; 2] = [0x5412, 0x541c];

/// From this number on, a call on x86-64 is of the x32 interface, which the other rules do not know.
const FIRST_FOREIGN_CALL: u32 = 0x4000_0000;

/// Refuses the calls for this thread and everything that it starts.
pub(super) fn refuse_dangerous_calls() -> io::Result<()> {
    let made = || -> Result<_, BackendError> {
        let refused = filter(refused_calls()?, libc::EPERM)?;
        // The flags of this call are in memory, where a filter cannot look. A program that is told
        // that there is no such call uses `clone`.
        let missing = filter([(libc::SYS_clone3, vec![])].into(), libc::ENOSYS)?;
        Ok([refused, missing])
    };
    let [refused, missing] = made().map_err(io::Error::other)?;
    for program in [foreign_calls(), missing, refused] {
        apply_filter(&program).map_err(io::Error::other)?;
    }
    Ok(())
}

type CallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Makes a filter. A call by another interface of the processor kills the process.
fn filter(rules: CallRules, errno: i32) -> Result<Vec<sock_filter>, BackendError> {
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
}

fn refused_calls() -> Result<CallRules, BackendError> {
    let mut rules: CallRules = REFUSED.iter().map(|call| (*call, vec![])).collect();
    // Limits of another process than the caller.
    rules.insert(libc::SYS_prlimit64, vec![rule(0, SeccompCmpOp::Ne, 0)?]);
    let with_flag = |flag: i32| {
        let flag = u64::from(flag.unsigned_abs());
        rule(0, SeccompCmpOp::MaskedEq(flag), flag)
    };
    let namespaces = NAMESPACE_FLAGS.into_iter().map(with_flag).collect::<Result<Vec<_>, _>>()?;
    rules.insert(libc::SYS_unshare, namespaces.clone());
    rules.insert(libc::SYS_clone, namespaces);
    let requests = TERMINAL_REQUESTS.into_iter().map(|request| rule(1, SeccompCmpOp::Eq, request));
    rules.insert(libc::SYS_ioctl, requests.collect::<Result<_, _>>()?);
    Ok(rules)
}

/// Makes a rule on the lower 32 bits of an argument: the kernel ignores the others in these calls.
fn rule(argument: u8, compare: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    let length = SeccompCmpArgLen::Dword;
    SeccompRule::new(vec![SeccompCondition::new(argument, length, compare, value)?])
}

/// Returns a filter that answers calls of another interface with "no such call".
fn foreign_calls() -> Vec<sock_filter> {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let answer = |action: SeccompAction| step(RETURN, 0, 0, action.into());
    vec![
        // The number of the call is the first word of what a filter sees.
        step(LOAD_WORD, 0, 0, 0),
        step(JUMP_IF_AT_LEAST, 0, 1, FIRST_FOREIGN_CALL),
        answer(SeccompAction::Errno(libc::ENOSYS.unsigned_abs())),
        answer(SeccompAction::Allow),
    ]
}
