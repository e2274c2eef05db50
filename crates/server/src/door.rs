//! Who may come in: tokens, one-time codes, cookies, and the names and pages from which requests may come. It must not
//! know what is behind the door.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, Method, Uri, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::bucket::Bucket;
use crate::config::Config;
use crate::error::{Code, Problem, ServerError};
use crate::limits;
use crate::secret::Secret;

/// What somebody may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Everything.
    #[default]
    Full,
    /// Look.
    Read,
}

/// The door of a house.
pub(crate) struct Door {
    full: Secret,
    read: Secret,
    /// The names by which this machine may be called.
    names: Vec<String>,
    codes: Mutex<Vec<OneTime>>,
    failures: Mutex<Bucket>,
}

struct OneTime {
    code: Secret,
    access: Access,
    made: Instant,
}

/// The cookie's name.
pub(crate) const COOKIE: &str = "parlor_session";

/// Houses on other ports of this machine share the cookie, because browsers do not tell ports apart.
const HOUSES: usize = 4;

/// The file in the data folder that holds the token of programs that may do everything.
pub const TOKEN_FILE: &str = "token";

/// What must not be in an address: addresses end up in histories and logs.
const NOT_IN_QUERY: [&str; 5] = ["token", "access_token", "authorization", "code", "bearer"];

impl Door {
    /// The door of the house in `data`, whose tokens are made the first time.
    pub(crate) fn open(data: &Path, config: &Config) -> Result<Door, ServerError> {
        let mut names: Vec<String> = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).into();
        let address = config.bind;
        if !address.is_unspecified() {
            names.push(if address.is_ipv6() { format!("[{address}]") } else { address.to_string() });
        }
        names.extend(config.hosts.iter().map(|host| host.to_ascii_lowercase()));
        Ok(Door {
            full: Secret::kept(&data.join(TOKEN_FILE))?,
            read: Secret::kept(&data.join("token-read-only"))?,
            names,
            codes: Mutex::default(),
            failures: Mutex::new(Bucket::new(limits::FAILURES, 1)),
        })
    }

    /// The token for everything.
    pub(crate) fn token(&self) -> &str {
        self.full.reveal()
    }

    /// The token of those who may look.
    pub(crate) fn read_token(&self) -> &str {
        self.read.reveal()
    }

    /// A code that lets one browser in, once, and soon.
    pub(crate) fn new_code(&self, access: Access) -> Result<String, ServerError> {
        let code = Secret::random()?;
        let text = code.reveal().to_owned();
        let mut codes = lock(&self.codes);
        codes.retain(|one| one.made.elapsed() < limits::CODE_TIME);
        if codes.len() >= limits::CODES {
            codes.remove(0);
        }
        codes.push(OneTime { code, access, made: Instant::now() });
        Ok(text)
    }

    /// What a code is good for. It is then used up.
    pub(crate) fn redeem(&self, code: &str) -> Result<Access, Problem> {
        if lock(&self.failures).is_empty() {
            return Err(too_many());
        }
        let mut codes = lock(&self.codes);
        codes.retain(|one| one.made.elapsed() < limits::CODE_TIME);
        match codes.iter().position(|one| one.code.is(code)) {
            Some(index) => Ok(codes.remove(index).access),
            None => {
                drop(codes);
                Err(self.failed("this link was used already, or is too old; run `parlor link` for a new one"))
            }
        }
    }

    /// The cookie that lets a browser in again, together with those of other houses that it has.
    pub(crate) fn cookie(&self, access: Access, headers: &HeaderMap) -> String {
        let own = |grant: &&str| self.granted(grant).is_some();
        let others: Vec<&str> = grants(headers).filter(|grant| !own(grant) && is_grant(grant)).collect();
        let words = format!("{}.{}", letter(access), today());
        let mark = self.secret(access).sign(&words);
        let mut all = vec![format!("{words}.{mark}")];
        all.extend(others.into_iter().take(HOUSES - 1).map(str::to_owned));
        let age = limits::COOKIE_DAYS * 86_400;
        format!("{COOKIE}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={age}", all.join("~"))
    }

    /// Whether a request comes from where requests may come from, by the names it uses.
    pub(crate) fn check(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), Problem> {
        let host = single(headers, header::HOST).map(str::to_ascii_lowercase);
        let Some(host) = host else { return Err(Problem::bad("the request names no host")) };
        if !self.names.iter().any(|name| name == name_of(&host)) {
            return Err(forbidden(format!(
                "this house is not called `{}`; use the address that `parlor` prints, or allow the name with `--host`",
                host.escape_default()
            )));
        }
        if headers.contains_key(header::ORIGIN) {
            let origin = single(headers, header::ORIGIN).unwrap_or_default().to_ascii_lowercase();
            let own = ["http://", "https://"].iter().any(|scheme| origin.strip_prefix(scheme) == Some(&host));
            if !own {
                return Err(forbidden("requests from other pages are refused"));
            }
        }
        let names =
            uri.query().unwrap_or_default().split('&').map(|pair| pair.split('=').next().unwrap_or_default());
        if names.into_iter().any(|name| NOT_IN_QUERY.contains(&name.to_ascii_lowercase().as_str())) {
            return Err(Problem::bad(
                "a token in an address ends up in histories and logs; send it as `Authorization: Bearer TOKEN`",
            ));
        }
        Ok(())
    }

    /// What whoever sent these headers may do.
    pub(crate) fn admit(
        &self,
        headers: &HeaderMap,
        method: &Method,
        upgrade: bool,
    ) -> Result<Access, Problem> {
        if let Some(value) = headers.get(header::AUTHORIZATION) {
            let token = value.to_str().ok().and_then(|value| value.split_once(' '));
            let token = token
                .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
                .map(|(_, token)| token.trim());
            let access = token.and_then(|token| self.access_of(token));
            return access.ok_or_else(|| {
                self.failed("the token is not this house's; see the file `token` in its data folder")
            });
        }
        let mut any = false;
        let access = grants(headers).inspect(|_| any = true).find_map(|grant| self.granted(grant));
        match access {
            Some(access) => self.browser(headers, method, upgrade).map(|()| access),
            None if any => {
                Err(self.failed("this browser is not known here any more; run `parlor link` for a new link"))
            }
            None => Err(Problem::new(
                Code::Unauthorized,
                "who asks? open the link that `parlor link` prints, or send `Authorization: Bearer TOKEN`",
            )),
        }
    }

    /// A browser sends its cookie whoever asked it to. A request that changes something must come from our own page.
    fn browser(&self, headers: &HeaderMap, method: &Method, upgrade: bool) -> Result<(), Problem> {
        let site = single(headers, "sec-fetch-site".parse().unwrap_or(header::ORIGIN));
        let foreign = site.is_some_and(|site| {
            headers.contains_key("sec-fetch-site") && !["same-origin", "none"].contains(&site)
        });
        let silent = (upgrade || !method.is_safe()) && !headers.contains_key(header::ORIGIN);
        if foreign || silent {
            return Err(forbidden("with a cookie, requests must come from Parlor's own page"));
        }
        Ok(())
    }

    fn access_of(&self, token: &str) -> Option<Access> {
        // Both are compared, so that the time tells nothing.
        let (full, read) = (self.full.is(token), self.read.is(token));
        if full {
            return Some(Access::Full);
        }
        read.then_some(Access::Read)
    }

    /// What one part of the cookie grants: `f.DAY.MARK`.
    fn granted(&self, grant: &str) -> Option<Access> {
        let (words, mark) = grant.rsplit_once('.')?;
        let (access, day) = words.split_once('.')?;
        let access = [Access::Full, Access::Read].into_iter().find(|one| letter(*one) == access)?;
        let age = today().checked_sub(day.parse().ok()?)?;
        (self.secret(access).signed(words, mark) && age <= limits::COOKIE_DAYS).then_some(access)
    }

    fn secret(&self, access: Access) -> &Secret {
        match access {
            Access::Full => &self.full,
            Access::Read => &self.read,
        }
    }

    /// Somebody tried. Right tokens are let in however often wrong ones came, so that nobody can lock the owner out.
    fn failed(&self, message: &str) -> Problem {
        if !lock(&self.failures).take() {
            return too_many();
        }
        tracing::warn!("somebody was not let in: {message}");
        Problem::new(Code::Unauthorized, message)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn too_many() -> Problem {
    Problem::new(Code::TooMany, "too many wrong tokens or links; wait a minute")
}

fn forbidden(message: impl Into<String>) -> Problem {
    Problem::new(Code::Forbidden, message)
}

fn letter(access: Access) -> &'static str {
    match access {
        Access::Full => "f",
        Access::Read => "r",
    }
}

/// The header's value, where there is exactly one.
fn single(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    values.next().is_none().then_some(first)?.to_str().ok()
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    let end = if host.starts_with('[') { host.find(']').map(|end| end + 1) } else { host.find(':') };
    let (name, port) = host.split_at(end.unwrap_or(host.len()));
    let fits = port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    if fits { name } else { "" }
}

/// What the cookie grants, house by house.
fn grants(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let named = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    named.filter(|(name, _)| *name == COOKIE).flat_map(|(_, value)| value.split('~')).take(HOUSES)
}

fn is_grant(grant: &str) -> bool {
    !grant.is_empty()
        && grant.len() < 100
        && grant.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
}

/// Days since 1970.
#[allow(clippy::disallowed_methods, reason = "the server is part of the shell, and a cookie has an age")]
fn today() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() / 86_400)
}

#[cfg(test)]
mod tests;
