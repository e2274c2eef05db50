// What a page shows while a session grows is what it shows after a reload, and what the export holds: for the demo, and
// for a recording of every dialect that is fed in pieces while pages join, reload, lose their connection and their house.

import assert from "node:assert/strict";
import { appendFile } from "node:fs/promises";
import { equalsExport, exported, recordings, shown } from "./conversation.mjs";
import { AWAY, scene, until } from "./house.mjs";

/** Numbers that look random and come again with the same seed. */
function chance(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { below: (/** @type {number} */ end) => Math.floor(next() * end), pick: (list) => list[Math.floor(next() * list.length)] };
}

/** `PARLOR_SEED=7` tries another order of events; without it, every run is the same. */
const SEED = Number(process.env.PARLOR_SEED ?? 20_261_118);

/** Where each agent keeps its files; a dialect that no agent keeps is known by its content. */
const PLACES = {
  "codex-rollout": (id) => [".codex/sessions/2026/01/02", `rollout-2026-01-02T03-04-05-${id}.jsonl`],
  "pi-session": (id) => [".pi/agent/sessions/--w--", `2026-01-02T03-04-05-006Z_${id}.jsonl`],
  other: (id) => [".claude/projects/-w", `${id}.jsonl`],
};

/** A recording in pieces that end anywhere, even within a letter. */
function pieces(bytes, random) {
  const ends = new Set([bytes.length]);
  const count = 5 + random.below(7);
  while (ends.size < Math.min(count, bytes.length)) ends.add(1 + random.below(bytes.length));
  return [...ends].sort((one, other) => one - other).map((end, index, all) => bytes.subarray(all[index - 1] ?? 0, end));
}

/** Everything that the file holds has reached the house. */
async function isRead(house, session, lines) {
  await until(`${lines} records of ${session}`, async () => {
    const { records } = await house.ask(`/api/sessions/${encodeURIComponent(session)}/records?from=0&count=1000`);
    return records.length >= lines;
  });
}

/** The file as a session of the house; it has to hold a line before it can be one. */
function known(house, id) {
  return until(`the session ${id}`, async () => (await house.sessions()).find((row) => row.id === id || row.id.endsWith(id))?.id);
}

/** The ways in which a page can be disturbed. */
const events = {
  nothing: async () => {},
  // What is there so far is right as well, half a record or a running turn included.
  settle: async ({ tab, session }) => { await equalsExport(tab, session, "in between"); },
  reload: async ({ tab }) => { await tab.reload(); },
  async cut({ stage, tab }) {
    stage.house.cut();
    await tab.until("the page to notice", () => document.body.classList.contains("offline"));
    stage.house.mend();
  },
  async join({ stage, tab, session, joined }) {
    if (joined.length === 2) return;
    const other = await stage.beside(tab, session);
    other.forgive = AWAY;
    joined.push(other);
  },
  async restart({ stage }) {
    await stage.house.kill();
    await stage.house.start();
  },
};

/** Feeds one recording to a house while someone looks. */
async function feed(stage, tab, recording, random) {
  const name = `${recording.dialect}-${recording.quirk}`;
  const id = `0199${String(SEED % 10_000).padStart(4, "0")}-${name}`;
  const [folder, file] = (PLACES[recording.dialect] ?? PLACES.other)(id);
  const parts = pieces(recording.bytes, random);
  const path = await stage.home.write(`${folder}/${file}`, "");
  const lines = recording.bytes.toString("latin1").split("\n").filter((line) => line.trim()).length;
  const joined = [];
  let session = null;
  const story = [];
  let fed = 0;
  for (const part of parts) {
    await appendFile(path, part);
    fed += part.length;
    story.push(part.length);
    if (session === null && recording.bytes.subarray(0, fed).includes(10)) {
      session = await known(stage.house, id);
      await tab.open(session);
    }
    if (session !== null) {
      // Killing the house each time would take all the time there is.
      const what = random.pick(["nothing", "settle", "settle", "settle", "settle", "reload", "cut", "join", ...(random.below(3) === 0 ? ["restart"] : [])]);
      story.push(what);
      await events[what]({ stage, tab, session, joined });
    }
  }
  session ??= await known(stage.house, id);
  await tab.open(session);
  await tab.ready();
  const when = `of ${name} with seed ${SEED}, after ${story.join(", ")}`;
  await isRead(stage.house, session, lines);
  const live = await equalsExport(tab, session, `live ${when}`);
  assert.ok(live.length > 0, `nothing is shown ${when}`);
  for (const other of joined) {
    assert.deepEqual(await equalsExport(other, session, `to someone who joined ${when}`), live);
    other.isQuiet();
    await other.page.close();
    stage.tabs.splice(stage.tabs.indexOf(other), 1);
  }
  await tab.reload();
  assert.deepEqual(await equalsExport(tab, session, `after a reload ${when}`), live);
}

const all = await recordings();
/** A house takes a second to open: recordings share one. */
const groups = Object.entries({
  "sessions of Claude": /^claude/,
  "sessions of Codex and Pi": /^(codex|pi)-/,
  "sessions of others": /^(?!claude|codex|pi)/,
});
console.log(`seed ${SEED}`);

for (const [group, dialects] of groups) {
  scene(`${group}: live, reloaded and exported are the same`, {}, async (stage) => {
    const tab = await stage.visit();
    tab.forgive = AWAY;
    for (const recording of all.filter((one) => dialects.test(one.dialect))) {
      const name = `${recording.dialect}/${recording.quirk}`;
      await feed(stage, tab, recording, chance([...name].reduce((sum, letter) => Math.imul(sum, 31) + letter.charCodeAt(0), SEED)));
    }
  });
}

scene("the demo: live, joined, reloaded, cut off, restarted and exported are the same", { environment: () => ({ PARLOR_DEMO_SPEED: "6" }) }, async (stage) => {
  const random = chance(SEED);
  const tab = await stage.visit();
  tab.forgive = AWAY;
  await tab.page.click("text=Try the demo");
  await tab.sees("Show me what you can do.", "#talk > .entry.user");
  const [{ id: session }] = await stage.house.sessions();
  const joined = [];
  for (const what of ["cut", "join", "reload", "cut"]) {
    // More is there than before: something happened in between.
    const [seen, more] = [await shown(tab), 1 + random.below(3)];
    await tab.until(`${more} more entries`, ([before, count]) => document.querySelectorAll("#talk > .entry").length >= before + count || document.getElementById("stop")?.hidden, [seen.length, more]);
    await events[what]({ stage, tab, session, joined });
    await tab.ready();
  }
  await tab.until("the demo to end", () => document.getElementById("stop")?.hidden && document.querySelectorAll("#talk > .entry").length > 8);
  const live = await equalsExport(tab, session, "live");
  for (const other of joined) assert.deepEqual(await equalsExport(other, session, "to someone who joined"), live);
  await events.restart({ stage });
  await tab.until("the page to be connected again", () => !document.body.classList.contains("offline"));
  assert.deepEqual(await equalsExport(tab, session, "after a restart"), live);
  await tab.reload();
  assert.deepEqual(await equalsExport(tab, session, "after a reload"), live);

  // A house that dies in the middle of a turn does not leave it running.
  await tab.send("And again");
  await tab.sees("And again", "#talk > .entry.user");
  await events.restart({ stage });
  await tab.until("rest", () => !document.body.classList.contains("offline") && document.getElementById("stop")?.hidden);
  const after = await equalsExport(tab, session, "after the house died in a turn");
  await tab.reload();
  assert.deepEqual(await equalsExport(tab, session, "after the reload"), after);
});

/** One line of a session of Claude Code: prompts and replies in turn. */
function line(number, text) {
  const [type, message] = number % 2 === 0
    ? ["user", { role: "user", content: `question ${number}: ${text}` }]
    : ["assistant", { id: `msg-${number}`, type: "message", role: "assistant", model: "claude-x", content: [{ type: "text", text: `answer ${number}: **${text}**` }] }];
  return `${JSON.stringify({ parentUuid: number > 0 ? `u-${number - 1}` : null, isSidechain: false, cwd: "/w", sessionId: "long", type, message, uuid: `u-${number}`, timestamp: new Date(Date.UTC(2026, 0, 2, 3, 0, number * 40)).toISOString() })}\n`;
}

const lines = (from, to, text) => Array.from({ length: to - from }, (_, index) => line(from + index, text)).join("");

scene("a session that is longer than the page, and one that is written anew", {}, async (stage) => {
  const path = await stage.home.write(".claude/projects/-w/long.jsonl", lines(0, 300, "early"));
  const tab = await stage.visit();
  tab.forgive = AWAY;
  const session = await known(stage.house, "long");
  await tab.open(session);
  await tab.sees("answer 299");
  const joined = [];
  let written = 300;
  for (const what of ["settle", "cut", "join", "restart", "reload", "settle"]) {
    await appendFile(path, lines(written, written + 150, "late"));
    written += 150;
    if (what !== "settle") await events[what]({ stage, tab, session, joined });
    for (const one of [tab, ...joined]) {
      await one.sees(`answer ${written - 1}`);
      await endsLikeExport(one, session, `after ${what}`);
    }
  }

  // The same file with another past: the page forgets what it had.
  await stage.home.write(".claude/projects/-w/long.jsonl", lines(0, 20, "anew"));
  for (const one of [tab, ...joined]) {
    await one.until("the new past", () => document.getElementById("talk")?.textContent?.includes("anew") && !document.getElementById("talk")?.textContent?.includes("late"));
    await equalsExport(one, session, "after the file was written anew");
  }
});

/** The page shows the end of what the export holds: so many entries that the past is not in it. */
async function endsLikeExport(tab, session, when) {
  await until(`the page to end like the export ${when}`, async () => {
    const [live, kept] = await Promise.all([shown(tab), exported(tab, session)]).catch(() => [[], [""]]);
    return live.length >= 200 && JSON.stringify(live) === JSON.stringify(kept.slice(-live.length));
  });
}
