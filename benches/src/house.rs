//! A real house in a home of its own: the program that was built, as a process of its own, on a free port.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with sessions, and the data of a house. It goes when it is dropped.
pub struct Home {
    folder: TempDir,
}

/// A house that runs.
pub struct House {
    child: Child,
    /// Where it listens.
    pub port: u16,
    /// The full token.
    pub token: String,
}

impl Home {
    /// An empty home.
    pub fn new() -> io::Result<Home> {
        let home = Home { folder: tempfile::tempdir()? };
        std::fs::create_dir_all(home.sessions())?;
        std::fs::create_dir_all(home.data())?;
        Ok(home)
    }

    /// Where Claude Code would keep the sessions of one project.
    pub fn sessions(&self) -> PathBuf {
        self.folder.path().join("claude/projects/-home-dev-ferry")
    }

    /// The file of a session by its id.
    pub fn file(&self, id: &str) -> PathBuf {
        self.sessions().join(format!("{id}.jsonl"))
    }

    /// The data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Opens the house.
    pub fn open(&self) -> io::Result<House> {
        let mut command = Command::new(program()?);
        command.args(["serve", "--json", "--port", "0", "--no-archive"]);
        command.env_clear().env("HOME", self.folder.path()).env("PARLOR_DATA", self.data());
        command.env("CLAUDE_CONFIG_DIR", self.folder.path().join("claude"));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut ready = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut ready)?;
        }
        let ready: Value = serde_json::from_str(&ready)?;
        let port = ready["port"].as_u64().unwrap_or_default() as u16;
        Ok(House { child, port, token: ready["token"].as_str().unwrap_or_default().to_owned() })
    }
}

impl House {
    /// The body of an answer.
    pub fn get(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let (port, token) = (self.port, &self.token);
        // In one piece, as clients send it.
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let head = memchr::memmem::find(&answer, b"\r\n\r\n").map_or(0, |end| end + 4);
        Ok(answer.split_off(head))
    }

    /// Waits until a condition on an answer holds, and says how long that took.
    pub fn until(&self, path: &str, holds: impl Fn(&[u8]) -> bool) -> io::Result<Duration> {
        let begun = Instant::now();
        while !holds(&self.get(path)?) {
            if begun.elapsed() > Duration::from_secs(600) {
                return Err(io::Error::other(format!("waited in vain for {path}")));
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(begun.elapsed())
    }

    /// Waits until the house has nothing left to do.
    pub fn rest(&self) -> io::Result<()> {
        let mut quiet = 0;
        for _ in 0..3_000 {
            let before = self.cpu()?;
            std::thread::sleep(Duration::from_millis(100));
            quiet = if self.cpu()? - before <= Duration::from_millis(10) { quiet + 1 } else { 0 };
            if quiet >= 12 {
                return Ok(());
            }
        }
        Err(io::Error::other("the house found no rest"))
    }

    /// Memory of its own in bytes: pages of mapped files are the system's, and not counted.
    pub fn memory(&self) -> io::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or_default();
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024)
    }

    /// The same once what was freed has gone back to the system, which takes some seconds.
    pub fn settled_memory(&self) -> io::Result<u64> {
        let (mut least, mut since) = (self.memory()?, 0);
        for _ in 0..30 {
            std::thread::sleep(Duration::from_secs(1));
            let now = self.memory()?;
            since = if now < least { 0 } else { since + 1 };
            least = least.min(now);
            if since >= 6 {
                break;
            }
        }
        Ok(least)
    }

    /// The processor time it has used.
    pub fn cpu(&self) -> io::Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let after = stat.rsplit(')').next().unwrap_or_default();
        let ticks: u64 =
            after.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum();
        Ok(Duration::from_millis(ticks * 10))
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program beside this one, unless `PARLOR_BENCH_PROGRAM` names another.
fn program() -> io::Result<PathBuf> {
    if let Some(named) = std::env::var_os("PARLOR_BENCH_PROGRAM") {
        return Ok(named.into());
    }
    let own = std::env::current_exe()?;
    let path = own.parent().and_then(Path::parent).map(|folder| folder.join("parlor")).unwrap_or_default();
    match path.exists() {
        true => Ok(path),
        false => Err(io::Error::other(format!(
            "there is no `{}`; run `cargo build --release` first",
            path.display()
        ))),
    }
}
