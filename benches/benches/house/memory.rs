//! What a socket costs that nobody speaks on, and what a session costs that is open.

use std::io;

use parlor_bench::claude_session;
use parlor_bench::house::{Home, House};
use parlor_bench::socket::Socket;

use crate::amount;
use crate::fan::{line, subscribe};

pub(crate) async fn run() -> io::Result<()> {
    let sockets = amount("PARLOR_BENCH_SOCKETS", 5_000) as usize;
    let each = |before: u64, after: u64| after.saturating_sub(before) as f64 / sockets as f64 / 1024.0;
    let (_home, house) = quiet_house(|number| (number < 200).then(|| line(number, "")))?;
    println!("an idle house: {:.1} MB (goal: at most 20)", house.settled_memory()? as f64 / 1e6);
    let before = house.memory()?;
    let mut idle = Vec::with_capacity(sockets);
    for _ in 0..sockets {
        idle.push(Socket::open(house.port, &house.token).await?);
    }
    println!("{sockets} idle sockets: {:.1} KB each (goal: at most 8)", each(before, house.memory()?));
    drop(house);

    let (_home, house) = quiet_house(|number| (number < 200).then(|| line(number, "")))?;
    let before = house.memory()?;
    let _follow = subscribe(&house, "talk", "html", sockets).await?;
    println!("{sockets} sockets that follow a session: {:.1} KB each", each(before, house.memory()?));
    drop(house);

    let talk = String::from_utf8_lossy(&claude_session(20_000_000, 3)).into_owned();
    let (_home, house) = quiet_house(|number| (number == 0).then(|| talk.clone()))?;
    let before = house.memory()?;
    let _talk = subscribe(&house, "talk", "html", 1).await?;
    let grown = house.memory()?.saturating_sub(before) as f64;
    println!("an open session of a file: {:.2}x of its size", grown / talk.len() as f64);
    Ok(())
}

/// A house with one session that has long been made searchable, and that has done nothing yet in this life.
fn quiet_house(text: impl Fn(usize) -> Option<String>) -> io::Result<(Home, House)> {
    let home = Home::new()?;
    std::fs::write(home.file("talk"), (0..).map_while(text).collect::<String>())?;
    home.open()?.rest()?;
    let house = home.open()?;
    house.rest()?;
    Ok((home, house))
}
