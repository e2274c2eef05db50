// A session of tens of thousands of entries is read like a short one: its end at once, its past by scrolling, any place by
// its address.

import assert from "node:assert/strict";
import { appendFile } from "node:fs/promises";
import { scene, until } from "./house.mjs";

const COUNT = process.env.PARLOR_THOROUGH === "1" ? 100_000 : 20_000;
const SESSION = "11111111-2222-4333-8444-555555555555";
/** A word that stands once, far from the end. */
const NEEDLE = "quokkaberry";
const NEEDLE_AT = 1234;
/** The page keeps at most some hundred entries, each of some dozen elements. */
const MOST_ENTRIES = 1000;
const MOST_ELEMENTS = 30_000;

let at = Date.parse("2026-01-02T03:04:05Z");
const record = (number, type, message) => JSON.stringify({
  parentUuid: number > 0 ? `u-${number - 1}` : null, isSidechain: false, userType: "external", cwd: "/home/kit/garden", sessionId: SESSION, version: "2.1.0", gitBranch: "main",
  type, message, uuid: `u-${number}`, timestamp: new Date(at += 4000).toISOString(),
});

/** Prompts, replies and calls in turn, as Claude Code writes them. */
function* lines() {
  for (let number = 0; number < COUNT; number++) {
    const word = number === NEEDLE_AT ? ` ${NEEDLE}` : "";
    if (number % 4 === 0) yield record(number, "user", { role: "user", content: `Question ${number}${word}: what grows in bed ${number % 97}?` });
    else if (number % 4 === 1) {
      // One entry: the call with its result.
      yield record(number, "assistant", { id: `msg-${number}`, type: "message", role: "assistant", model: "claude-x", content: [{ type: "tool_use", id: `toolu-${number}`, name: "Bash", input: { command: `ls bed-${number % 97}` } }] });
      yield record(`${number}r`, "user", { role: "user", content: [{ type: "tool_result", tool_use_id: `toolu-${number}`, content: `basil\nthyme ${number}\n` }] });
    } else yield record(number, "assistant", { id: `msg-${number}`, type: "message", role: "assistant", model: "claude-x", content: [{ type: "text", text: `Answer ${number}${word}: *basil* and \`thyme\`.\n\n- one\n- two ${number}` }], usage: { input_tokens: 10, output_tokens: 5 } });
  }
}

/** How many entries and elements are in the page. */
const weigh = (tab) => tab.page.evaluate(() => ({ entries: document.querySelectorAll("#talk > .entry").length, elements: document.querySelectorAll("*").length }));

async function isLight(tab, when) {
  const { entries, elements } = await weigh(tab);
  assert.ok(entries <= MOST_ENTRIES, `${entries} entries in the page ${when}`);
  assert.ok(elements <= MOST_ELEMENTS, `${elements} elements in the page ${when}`);
}

/** The entry at the upper edge, and where it stands. */
const topmost = (tab) => tab.page.evaluate(() => {
  const edge = /** @type {HTMLElement} */ (document.getElementById("scroll")).getBoundingClientRect().top;
  const first = [...document.querySelectorAll("#talk > .entry")].find((one) => one.getBoundingClientRect().bottom > edge + 1);
  return { id: first?.id ?? "", top: (first?.getBoundingClientRect().top ?? 0) - edge };
});

const firstN = (tab) => tab.page.evaluate(() => Number(/** @type {HTMLElement | null} */ (document.querySelector("#talk > .entry"))?.dataset.myN));

scene(`a session of ${COUNT} entries`, {}, async (stage) => {
  const path = await stage.home.write(`.claude/projects/-w/${SESSION}.jsonl`, `${[...lines()].join("\n")}\n`);
  const tab = await stage.visit();
  await until("the session", async () => (await stage.house.sessions()).some((row) => row.id === SESSION));

  const began = Date.now();
  await tab.open(SESSION);
  await tab.sees(`Answer ${COUNT - 1}`);
  console.log(`first window after ${Date.now() - began} ms`);
  // The end of it is shown before the rest is read, and what is read then replaces nothing that somebody looks at.
  await tab.page.evaluate(() => [...document.querySelectorAll("#talk > .entry")].at(-1)?.setAttribute("data-looked-at", ""));
  await tab.until("all of it to be read", () => !document.body.textContent?.includes("the rest is being read"));
  assert.equal(await tab.count("#talk > .entry[data-looked-at]", ""), 1, "the entry that was looked at is another one now");
  await isLight(tab, "at first");
  await tab.until("the end in view", () => {
    const scroller = /** @type {HTMLElement} */ (document.getElementById("scroll"));
    return scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop < 50;
  });

  // Upwards with the wheel: older entries come, and what is being read stays where it is.
  const box = await tab.page.locator("#scroll").boundingBox();
  assert.ok(box);
  await tab.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  let lowest = await firstN(tab);
  for (let windows = 0; windows < 4; windows++) {
    const target = lowest - 1;
    await until("older entries", async () => {
      await tab.page.mouse.wheel(0, -2500);
      return await firstN(tab) <= target;
    });
    lowest = await firstN(tab);
    await isLight(tab, "on the way up");
    const order = await tab.page.$$eval("#talk > .entry", (all) => all.map((one) => Number(/** @type {HTMLElement} */ (one).dataset.myN)));
    assert.ok(order.every((n, index) => index === 0 || n === order[index - 1] + 1), "entries stand without gaps and in order");
  }

  // A window that comes above moves nothing: in the frame that shows it, what was in view stands where it stood before.
  await tab.page.evaluate(() => { /** @type {HTMLElement} */ (document.getElementById("scroll")).scrollTop = 1200; });
  await settled(tab);
  const moved = await tab.page.evaluate(windowFromAbove);
  console.log(`a window came from above: what was in view moved by at most ${moved.toFixed(2)} px`);
  assert.ok(moved < 2, `a window that came from above moved what was in view by ${moved} px`);

  // What is new is told while someone reads elsewhere, and moves nothing.
  await settled(tab);
  const reading = await topmost(tab);
  await appendFile(path, `${record(COUNT, "assistant", { id: "msg-last", type: "message", role: "assistant", model: "claude-x", content: [{ type: "text", text: "The very last word." }] })}\n`);
  await tab.sees("1 new below", "#pill:not([hidden])");
  const now = await topmost(tab);
  assert.equal(now.id, reading.id, "the reader was moved to another entry");
  assert.ok(Math.abs(now.top - reading.top) < 2, `the reader was moved from ${reading.top} to ${now.top}`);
  await tab.page.click("#pill");
  await tab.sees("The very last word.");
  await isLight(tab, "after the pill");

  // Any entry by its address, also in a tab that comes by it.
  const { entries } = await stage.house.ask(`/api/sessions/${SESSION}/entries?from=${Math.floor(COUNT / 2)}&count=1`);
  const { id } = entries[0];
  await tab.open(SESSION, id);
  await tab.until("the entry in view", isInView, id);
  await isLight(tab, "after a jump");
  const other = await stage.tab(tab.page.context());
  await other.page.goto(`${stage.house.url}/#/s/${SESSION}/e/${encodeURIComponent(id)}`);
  await other.until("the entry in view in a new tab", isInView, id);
  await other.page.close();

  // A word that stands once.
  await tab.page.locator("#scroll").focus();
  await tab.search(NEEDLE, (hits) => hits === 1);
  await tab.page.click("#hits button");
  await tab.until("the found entry in view", (word) => {
    const entry = [...document.querySelectorAll("#talk > .entry")].find((one) => one.textContent?.includes(word));
    const [box, view] = [entry?.getBoundingClientRect(), document.getElementById("scroll")?.getBoundingClientRect()];
    return box && view && box.top >= view.top - 1 && box.top < view.bottom;
  }, NEEDLE);
  await isLight(tab, "after a search");

  const frames = await tab.page.evaluate(scrollFrames);
  const heap = await tab.page.evaluate(() => Math.round((/** @type {any} */ (performance).memory?.usedJSHeapSize ?? 0) / 1e6));
  console.log(`frames while scrolling: median ${frames.median.toFixed(1)} ms, longest ${frames.longest.toFixed(1)} ms; ${heap} MB of heap`);

  // And back to the end.
  await tab.page.locator("#scroll").focus();
  await tab.page.keyboard.press("G");
  await tab.sees(`Answer ${COUNT - 1}`);
  await isLight(tab, "at the end again");
});

/** Runs in the page: scrolls up through some screens, and says how long the frames took. */
async function scrollFrames() {
  const scroller = /** @type {HTMLElement} */ (document.getElementById("scroll"));
  const times = [];
  let last = performance.now();
  for (let frame = 0; frame < 60; frame++) {
    scroller.scrollTop -= 120;
    const now = await new Promise((next) => requestAnimationFrame(next));
    times.push(now - last);
    last = now;
  }
  times.sort((one, other) => one - other);
  return { median: times[30], longest: times[59] };
}

/** Runs in the page: goes near the top, so that a window comes above, and says how far the frame with it moved what was in view. */
async function windowFromAbove() {
  const scroller = /** @type {HTMLElement} */ (document.getElementById("scroll"));
  const look = () => {
    const view = scroller.getBoundingClientRect();
    const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("#talk > .entry")]);
    const boxes = all.map((one) => /** @type {const} */ ([one.id, one.getBoundingClientRect()]));
    const visible = boxes.filter(([, box]) => box.bottom > view.top && box.top < view.bottom);
    return { first: all[0].id, tops: new Map(visible.map(([id, box]) => [id, box.top])) };
  };
  const frame = () => new Promise((next) => requestAnimationFrame(next));
  scroller.scrollTop = 800;
  for (let before = look(); ; ) {
    await frame();
    const after = look();
    if (after.first !== before.first) {
      return Math.max(...[...before.tops].map(([id, top]) => Math.abs((after.tops.get(id) ?? Infinity) - top)));
    }
    before = after;
  }
}

/** Nothing moves any more: two frames in a row look alike. */
async function settled(tab) {
  let last = "";
  await until("the page to be still", async () => {
    const now = await tab.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
      const scroller = /** @type {HTMLElement} */ (document.getElementById("scroll"));
      done(`${scroller.scrollTop} ${scroller.scrollHeight} ${document.querySelector("#talk > .entry")?.id}`);
    }))));
    const same = now === last;
    last = String(now);
    return same;
  });
}

function isInView(/** @type {string} */ id) {
  const [box, view] = [document.getElementById(`e-${id}`)?.getBoundingClientRect(), document.getElementById("scroll")?.getBoundingClientRect()];
  return box && view && box.top >= view.top - 1 && box.top < view.bottom;
}

const UPDATES = 30;

scene("a message of 20 KB that goes on growing", {}, async (stage) => {
  const event = (body) => `${JSON.stringify({ type: "stream_event", session_id: "growing", parent_tool_use_id: null, event: body })}\n`;
  const delta = (text) => event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
  const paragraph = "Basil likes the sun, and `thyme` likes *stones*; neither likes wet feet. ".repeat(5);
  const path = await stage.home.write(".claude/projects/-w/growing.jsonl", [
    `${JSON.stringify({ type: "system", subtype: "init", session_id: "growing", model: "claude-x", cwd: "/w" })}\n`,
    event({ type: "message_start", message: { id: "msg-growing", role: "assistant", model: "claude-x", content: [] } }),
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    delta(`${paragraph}\n\n`.repeat(Math.ceil(20_000 / paragraph.length))),
  ].join(""));
  const tab = await stage.stranger();
  await tab.page.addInitScript(countUpdates);
  await tab.page.goto(await stage.house.link());
  await tab.ready();
  await until("the session", async () => (await stage.house.sessions()).some((row) => row.id === "growing"));
  await tab.open("growing");
  await tab.sees("Basil likes the sun");
  // The words someone has selected stay selected while more are written.
  await tab.page.evaluate(() => document.getSelection()?.selectAllChildren(/** @type {Element} */ (document.querySelector("#talk .prose p"))));
  const selected = await tab.page.evaluate(() => String(document.getSelection()));
  for (let number = 0; number < UPDATES; number++) {
    await appendFile(path, delta(`And word ${number}. `));
    await tab.sees(`And word ${number}.`);
  }
  assert.equal(await tab.page.evaluate(() => String(document.getSelection())), selected);
  const times = (await tab.page.evaluate(() => /** @type {any} */ (window).__updates)).sort((one, other) => one - other);
  assert.ok(times.length > UPDATES / 2, "the message grew bit by bit");
  console.log(`one update of a message of 20 KB: median ${times[times.length >> 1].toFixed(1)} ms, longest ${times.at(-1).toFixed(1)} ms`);
});

/** Runs in the page before its own scripts: how long it takes to take in each piece of news. */
function countUpdates() {
  const times = /** @type {any} */ (window).__updates = [];
  const listen = WebSocket.prototype.addEventListener;
  WebSocket.prototype.addEventListener = function (/** @type {string} */ type, /** @type {any} */ hear, /** @type {any} */ how) {
    const timed = type !== "message" ? hear : (/** @type {MessageEvent} */ message) => {
      const began = performance.now();
      hear(message);
      if (String(message.data).includes('"kind":"live"')) times.push(performance.now() - began);
    };
    listen.call(this, type, timed, how);
  };
}
