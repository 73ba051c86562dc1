//! The sessions of browsers that signed in.
//!
//! They are in a file, so that they survive a restart of the daemon, and so that a session that was
//! signed out does not come back with it.

use std::io;
use std::path::{Path, PathBuf};

use adjutant_model::Time;
use adjutant_process::atomic_file::write_atomic;
use adjutant_process::regular_file::read_regular;
use axum::http::{HeaderMap, header};
use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};

use super::token::{OperatorToken, random_hex};

/// The file in the data folder.
const FILE: &str = "journal/http-sessions";
const FILE_BYTES_MAX: u64 = 1 << 20;

const SESSION_SECS: i64 = 30 * 24 * 3600;

/// When there are more, the oldest session ends.
const SESSIONS_MAX: usize = 256;

/// A session as its file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SessionRecord {
    /// The authentication code of the cookie's value: a reader of the file cannot sign in with it,
    /// and a new token ends every session.
    key: String,
    /// In seconds since 1970.
    expires: i64,
}

/// The session of a browser that signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BrowserSession {
    key: String,
    csrf_token: String,
}

impl BrowserSession {
    /// Whether this is the session's anti-forgery token.
    pub(super) fn is_csrf_token(&self, shown: &str) -> bool {
        // A plain comparison is enough: the token has a fixed length and is new for every session.
        !shown.is_empty() && self.csrf_token == shown
    }
}

/// What a browser gets when it signs in.
pub(super) struct NewSession {
    pub(super) cookie: String,
    /// Proves, together with the cookie, that a page of this origin makes a change. It is sent only
    /// here: a server on another port of this host gets the cookie, but not this.
    pub(super) csrf_token: String,
}

pub(super) struct BrowserSessions {
    path: PathBuf,
    /// Differs per project and port: browsers share cookies among all ports of a host.
    cookie_name: String,
    /// Whether browsers may send the cookie over TLS only.
    secure: bool,
    records: RwLock<Vec<SessionRecord>>,
    /// Held while the file is written, so that an older list never replaces a newer one.
    writing: Mutex<()>,
}

impl BrowserSessions {
    /// Reads the sessions of a data folder. A file that cannot be read ends every session.
    pub(super) fn open(root: &Path, token: &OperatorToken, port: u16, secure: bool) -> Self {
        let path = root.join(FILE);
        let project = token.authentication_code("cookie name");
        let text = read_regular(&path, FILE_BYTES_MAX).unwrap_or_default();
        Self {
            path,
            cookie_name: format!("adjutant-{}-{port}", &project[..8]),
            secure,
            records: RwLock::new(serde_json::from_slice(&text).unwrap_or_default()),
            writing: Mutex::default(),
        }
    }

    /// Returns the name under which a page keeps its anti-forgery token. It is the cookie's, so that
    /// projects which use the same port one after the other do not replace each other's.
    pub(super) fn storage_key(&self) -> &str {
        &self.cookie_name
    }

    /// Returns the session of a call; `None` if its cookie is missing, forged, expired or revoked.
    pub(super) fn find(
        &self,
        token: &OperatorToken,
        headers: &HeaderMap,
        now: Time,
    ) -> Option<BrowserSession> {
        let all = headers.get_all(header::COOKIE).iter();
        let pairs = all.filter_map(|one| one.to_str().ok()).flat_map(|one| one.split(';'));
        let named = pairs.filter_map(|pair| pair.trim().split_once('='));
        // Another server of this host may have set a cookie of the same name.
        let mut own = named.filter(|(name, _)| *name == self.cookie_name);
        own.find_map(|(_, value)| self.find_by_value(token, value, now))
    }

    fn find_by_value(
        &self,
        token: &OperatorToken,
        value: &str,
        now: Time,
    ) -> Option<BrowserSession> {
        let (session, now) = (BrowserSession::new(token, value), now.as_millis() / 1000);
        let records = self.records.read();
        let mut known = records.iter().filter(|record| record.expires > now);
        known.any(|record| record.key == session.key).then_some(session)
    }

    /// Starts a session. If it cannot be written down, it lasts until the daemon exits.
    pub(super) fn create(&self, token: &OperatorToken, now: Time) -> io::Result<NewSession> {
        let value = random_hex()?;
        let session = BrowserSession::new(token, &value);
        let now = now.as_millis() / 1000;
        let record = SessionRecord { key: session.key, expires: now + SESSION_SECS };
        let _ = self.update(|records| {
            records.retain(|record| record.expires > now);
            records.push(record);
            let surplus = records.len().saturating_sub(SESSIONS_MAX);
            records.drain(..surplus);
        });
        let cookie = self.cookie(&value, SESSION_SECS);
        Ok(NewSession { cookie, csrf_token: session.csrf_token })
    }

    /// Ends a session for good, and returns the cookie that removes it from the browser.
    pub(super) fn revoke(&self, session: &BrowserSession) -> io::Result<String> {
        self.update(|records| records.retain(|record| record.key != session.key))?;
        Ok(self.cookie("", 0))
    }

    fn update(&self, change: impl FnOnce(&mut Vec<SessionRecord>)) -> io::Result<()> {
        let _writing = self.writing.lock();
        let text = {
            let mut records = self.records.write();
            change(&mut records);
            serde_json::to_vec(&*records)?
        };
        write_atomic(&self.path, &text)
    }

    fn cookie(&self, value: &str, max_age: i64) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        let name = &self.cookie_name;
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={max_age}{secure}")
    }
}

impl BrowserSession {
    fn new(token: &OperatorToken, value: &str) -> Self {
        Self {
            key: token.authentication_code(&format!("session\n{value}")),
            csrf_token: token.authentication_code(&format!("csrf\n{value}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const NOW: i64 = 1_800_000_000_000;

    fn token(text: &str) -> OperatorToken {
        OperatorToken::from_text(&text.repeat(40)).expect("a token")
    }

    fn at(millis: i64) -> Time {
        Time::from_millis(millis)
    }

    fn folder() -> tempfile::TempDir {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(home.path().join("journal")).expect("made");
        home
    }

    fn sent(cookie: &str) -> HeaderMap {
        let pair = cookie.split(';').next().unwrap_or_default();
        HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_str(pair).expect("a header"))])
    }

    #[test]
    fn session_survives_restart_unless_it_was_revoked() {
        let (home, token) = (folder(), token("a"));
        let sessions = BrowserSessions::open(home.path(), &token, 7474, false);
        let kept = sessions.create(&token, at(NOW)).expect("a session");
        let revoked = sessions.create(&token, at(NOW)).expect("a session");
        let session = sessions.find(&token, &sent(&revoked.cookie), at(NOW)).expect("it is valid");
        assert!(session.is_csrf_token(&revoked.csrf_token));
        assert!(!session.is_csrf_token(&kept.csrf_token) && !session.is_csrf_token(""));
        sessions.revoke(&session).expect("written");
        for sessions in [sessions, BrowserSessions::open(home.path(), &token, 7474, false)] {
            assert!(sessions.find(&token, &sent(&kept.cookie), at(NOW)).is_some());
            assert_eq!(sessions.find(&token, &sent(&revoked.cookie), at(NOW)), None);
        }
    }

    #[test]
    fn session_is_bound_to_port_project_and_time() {
        let (home, token) = (folder(), token("a"));
        let sessions = BrowserSessions::open(home.path(), &token, 7474, false);
        let new = sessions.create(&token, at(NOW)).expect("a session");
        let cookie = sent(&new.cookie);
        let elsewhere = BrowserSessions::open(home.path(), &token, 7475, false);
        assert_eq!(elsewhere.find(&token, &cookie, at(NOW)), None, "another port");
        let other = self::token("b");
        let rotated = BrowserSessions::open(home.path(), &other, 7474, false);
        assert_eq!(rotated.find(&other, &cookie, at(NOW)), None, "another token");
        assert_eq!(sessions.find(&other, &cookie, at(NOW)), None, "another token");
        let end = at(NOW + SESSION_SECS * 1000);
        assert_eq!(sessions.find(&token, &cookie, end), None, "it expired");
    }

    #[test]
    fn session_cookie_is_lax_and_with_tls_secure() {
        let (home, token) = (folder(), token("a"));
        let cookie = |secure| {
            let sessions = BrowserSessions::open(home.path(), &token, 7474, secure);
            sessions.create(&token, at(NOW)).expect("a session").cookie
        };
        assert!(cookie(false).ends_with("; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000"));
        assert!(cookie(true).ends_with("; SameSite=Lax; Max-Age=2592000; Secure"));
    }

    #[test]
    fn session_file_contains_no_cookie_and_is_bounded() {
        let (home, token) = (folder(), token("a"));
        let sessions = BrowserSessions::open(home.path(), &token, 7474, false);
        let first = sessions.create(&token, at(NOW)).expect("a session");
        let value = first.cookie.split(['=', ';']).nth(1).expect("a value").to_owned();
        let text = std::fs::read_to_string(home.path().join(FILE)).expect("a file");
        assert!(!text.contains(&value) && !text.contains(&first.csrf_token), "{text}");
        for _ in 0..SESSIONS_MAX {
            sessions.create(&token, at(NOW)).expect("a session");
        }
        assert_eq!(sessions.records.read().len(), SESSIONS_MAX);
        assert_eq!(sessions.find(&token, &sent(&first.cookie), at(NOW)), None, "the oldest ended");
    }

    #[test]
    fn session_starts_although_it_cannot_be_written_down() {
        let (home, token) = (tempfile::tempdir().expect("a folder"), token("a"));
        let sessions = BrowserSessions::open(home.path(), &token, 7474, false);
        let new = sessions.create(&token, at(NOW)).expect("a session");
        let session = sessions.find(&token, &sent(&new.cookie), at(NOW)).expect("it is valid");
        sessions.revoke(&session).expect_err("the promise cannot be kept");
        assert_eq!(sessions.find(&token, &sent(&new.cookie), at(NOW)), None);
    }
}
