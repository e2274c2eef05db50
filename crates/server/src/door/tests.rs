//! Who is let in and who is not, without a socket.

use super::*;
use std::time::Duration;

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name.parse::<header::HeaderName>().unwrap(), value.parse().unwrap());
    }
    headers
}

fn door() -> (tempfile::TempDir, Door) {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { hosts: vec!["Parlor.example".into()], ..Config::default() };
    let door = Door::open(folder.path(), &config).unwrap();
    (folder, door)
}

fn check(door: &Door, pairs: &[(&str, &str)], uri: &str) -> Result<(), Code> {
    door.check(&headers(pairs), &uri.parse().unwrap()).map_err(|problem| problem.code)
}

#[test]
fn only_names_of_this_house_are_answered() {
    let (_folder, door) = door();
    for good in ["localhost", "LOCALHOST:7275", "127.0.0.1:9", "[::1]:7275", "[::1]", "parlor.example:443"] {
        assert_eq!(check(&door, &[("host", good)], "/"), Ok(()), "{good}");
    }
    for bad in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.",
        "localhost:x",
        "localhost:99999",
        "",
        "[::1",
        "::1",
    ] {
        assert!(check(&door, &[("host", bad)], "/").is_err(), "{bad}");
    }
    assert_eq!(check(&door, &[], "/"), Err(Code::BadRequest));
    assert_eq!(check(&door, &[("host", "localhost"), ("host", "evil")], "/"), Err(Code::BadRequest));
}

#[test]
fn only_our_own_page_may_ask_in_a_browser() {
    let (_folder, door) = door();
    let ask = |origin: &str| check(&door, &[("host", "localhost:7275"), ("origin", origin)], "/api/sessions");
    assert_eq!(ask("http://localhost:7275"), Ok(()));
    for bad in
        ["null", "http://localhost:3000", "http://127.0.0.1:7275", "http://evil.example", "file://", ""]
    {
        assert_eq!(ask(bad), Err(Code::Forbidden), "{bad}");
    }
}

#[test]
fn a_token_in_the_address_is_refused() {
    let (_folder, door) = door();
    for uri in ["/ws?token=x", "/api/sessions?a=1&Access_Token=x", "/?code=1"] {
        assert_eq!(check(&door, &[("host", "localhost")], uri), Err(Code::BadRequest), "{uri}");
    }
    assert_eq!(check(&door, &[("host", "localhost")], "/api/search?q=token"), Ok(()));
}

#[test]
fn tokens_tell_what_may_be_done() {
    let (_folder, door) = door();
    let admit = |value: &str| {
        door.admit(&headers(&[("authorization", value)]), &Method::POST, false)
            .map_err(|problem| problem.code)
    };
    assert_eq!(admit(&format!("Bearer {}", door.token())), Ok(Access::Full));
    assert_eq!(admit(&format!("bearer {}", door.read_token())), Ok(Access::Read));
    assert_eq!(admit(&format!("Basic {}", door.token())), Err(Code::Unauthorized));
    assert_eq!(admit("Bearer"), Err(Code::Unauthorized));
    for _ in 0..limits::FAILURES {
        let _ = admit("Bearer wrong");
    }
    assert_eq!(admit("Bearer wrong"), Err(Code::TooMany));
    assert_eq!(admit(&format!("Bearer {}", door.token())), Ok(Access::Full), "the owner is never locked out");
}

#[tokio::test(start_paused = true)]
async fn a_code_works_once_and_not_for_long() {
    let (_folder, door) = door();
    let code = door.new_code(Access::Read).unwrap();
    assert_eq!(door.redeem(&code), Ok(Access::Read));
    assert_eq!(door.redeem(&code).unwrap_err().code, Code::Unauthorized);
    let late = door.new_code(Access::Full).unwrap();
    tokio::time::advance(limits::CODE_TIME + Duration::from_secs(1)).await;
    assert_eq!(door.redeem(&late).unwrap_err().code, Code::Unauthorized);
    let codes: Vec<String> = (0..=limits::CODES).map(|_| door.new_code(Access::Full).unwrap()).collect();
    assert!(door.redeem(&codes[0]).is_err(), "the oldest went");
    assert!(door.redeem(&codes[1]).is_ok());
}

#[test]
fn a_cookie_is_good_on_our_own_page_and_houses_share_it() {
    let ((_one, door), (_two, other)) = (self::door(), self::door());
    let value = |cookie: String| cookie.split(';').next().unwrap().to_owned();
    let cookie = door.cookie(Access::Full, &HeaderMap::new());
    assert!(cookie.contains("; HttpOnly; SameSite=Strict; Path=/;"), "{cookie}");
    let first = value(cookie);
    let both = value(other.cookie(Access::Read, &headers(&[("cookie", &first)])));
    let admit = |door: &Door, method: Method, upgrade: bool, more: &[(&str, &str)]| {
        let mut pairs = vec![("cookie", both.as_str())];
        pairs.extend(more);
        door.admit(&headers(&pairs), &method, upgrade).map_err(|problem| problem.code)
    };
    let own = ("origin", "http://localhost:7275");
    assert_eq!(admit(&door, Method::GET, false, &[]), Ok(Access::Full));
    assert_eq!(admit(&other, Method::GET, false, &[]), Ok(Access::Read));
    assert_eq!(admit(&door, Method::POST, false, &[]), Err(Code::Forbidden));
    assert_eq!(admit(&door, Method::POST, false, &[own]), Ok(Access::Full));
    assert_eq!(admit(&door, Method::GET, true, &[]), Err(Code::Forbidden));
    assert_eq!(admit(&door, Method::GET, true, &[own]), Ok(Access::Full));
    assert_eq!(admit(&door, Method::GET, false, &[("sec-fetch-site", "same-site")]), Err(Code::Forbidden));
    let forged = first.replace("=f.", "=r.");
    assert!(door.admit(&headers(&[("cookie", &forged)]), &Method::GET, false).is_err());
}
