//! The systemd unit in `contrib/`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use adjutant_test_support::skip::skip;

#[test]
fn systemd_unit_passes_verification() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |path: &str| home.path().join(path);
    for folder in ["project", ".cargo/bin", "run"] {
        fs::create_dir_all(at(folder)).expect("a folder");
    }
    fs::set_permissions(at("run"), fs::Permissions::from_mode(0o700)).expect("for the owner only");
    let program = env!("CARGO_BIN_EXE_adjutant");
    std::os::unix::fs::symlink(program, at(".cargo/bin/adjutant")).expect("a link");
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/adjutant.service");
    fs::copy(unit, at("adjutant.service")).expect("a copy");
    let mut verify = Command::new("systemd-analyze");
    verify.args(["--user", "verify"]).arg(at("adjutant.service"));
    let ran = verify.env("HOME", home.path()).env("XDG_RUNTIME_DIR", at("run")).output();
    let Ok(ran) = ran else {
        return skip("systemd-analyze is not installed", "`apt-get install systemd`");
    };
    let said = String::from_utf8_lossy(&[&ran.stdout[..], &ran.stderr[..]].concat()).into_owned();
    assert!(ran.status.success() && said.is_empty(), "{said}");
}
