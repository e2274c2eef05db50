// The bubble at the end of the conversation: it comes with the prompt, tells every phase, is gone with the turn however that
// ends, and is the same after a reload.

import assert from "node:assert/strict";
import { puppet, scene } from "./house.mjs";

/** A session with the puppet, open in a tab. */
async function begin(stage, options = {}) {
  const { session } = await stage.house.ask("/api/sessions", { method: "POST", body: JSON.stringify({ agent: "claude", cwd: stage.home.folder }) });
  const tab = await stage.visit(options);
  await tab.open(session);
  await tab.sees("Nothing has been said yet", "#hint");
  return { tab, session };
}

/** Keeps what the bubble showed, at every change of the page, and whether something stood below it. */
function watch() {
  const status = /** @type {HTMLElement} */ (document.getElementById("status"));
  const story = /** @type {any} */ (window).story = [];
  const look = () => {
    const below = [...document.querySelectorAll("#talk > *, #pending > *")].some((one) => status.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
    const now = status.hidden ? "none" : `${status.dataset.phase}${below ? " not at the end" : ""}`;
    if (story.at(-1) !== now) story.push(now);
  };
  look();
  new MutationObserver(look).observe(document.getElementById("content"), { subtree: true, childList: true, attributes: true });
}

/** Sends words as a person does and says what the bubble shows before anybody could have answered. */
function sendAndLook(words) {
  const field = /** @type {HTMLTextAreaElement} */ (document.getElementById("message"));
  field.value = words;
  field.dispatchEvent(new Event("input"));
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
  const status = /** @type {HTMLElement} */ (document.getElementById("status"));
  return { hidden: status.hidden, phase: status.dataset.phase, prompt: document.getElementById("pending")?.textContent };
}

/** What the bubble says, without the time that runs. */
const saying = (tab) => tab.page.$eval("#status", (status) => status.hidden ? "" : [status.dataset.phase, ...[...status.children].filter((one) => !one.matches(".time")).map((one) => one.className + one.textContent)].join("|"));

const phase = (tab, name) => tab.until(`the bubble to say ${name}`, (wanted) => {
  const status = /** @type {HTMLElement} */ (document.getElementById("status"));
  return (status.hidden ? "none" : status.dataset.phase) === wanted;
}, name);

scene("the bubble comes with the prompt, stays at the end through every phase, and goes with the turn", { environment: puppet }, async (stage) => {
  const { tab } = await begin(stage);
  await tab.page.evaluate(watch);
  const at = await tab.page.evaluate(sendAndLook, "phases");
  assert.deepEqual([at.hidden, at.phase], [false, "preparing"], "it is there before the house has answered");
  assert.match(at.prompt ?? "", /phases/);
  const steps = ["preparing", "thinking", "executing", "thinking", "replying"];
  for (const step of steps) {
    await phase(tab, step);
    await stage.home.write("go", "");
  }
  await phase(tab, "none");
  await tab.sees("It is today.", "#talk > .entry.assistant");
  const story = await tab.page.evaluate(() => /** @type {any} */ (window).story);
  assert.deepEqual(story, ["none", ...steps, "none"], "each phase once, never hidden in between, never above an entry");
  await tab.reload();
  await tab.sees("It is today.", "#talk > .entry.assistant");
  await phase(tab, "none");
});

scene("a reload in any phase shows the same bubble", { environment: puppet }, async (stage) => {
  const { tab, session } = await begin(stage);
  await tab.send("phases");
  const other = await stage.beside(tab, session);
  // Words change every few seconds by the clock: a clock that stands still shows whether anything else changes them.
  for (const step of ["preparing", "thinking", "executing"]) {
    await phase(tab, step);
    await phase(other, step);
    await stage.home.write("go", "");
  }
  await phase(tab, "thinking");
  const now = Date.now();
  for (const one of [tab, other]) await one.page.clock.setFixedTime(now);
  for (const one of [tab, other]) await one.reload();
  for (const one of [tab, other]) await phase(one, "thinking");
  const said = await saying(tab);
  assert.match(said, /^thinking\|.*motion-pulse.*\|words shimmer\S.*\|label-wordsThinking$/);
  assert.equal(await saying(other), said, "another tab says the same words");
  await tab.reload();
  await phase(tab, "thinking");
  assert.equal(await saying(tab), said, "a reload says the same words");
  await stage.home.write("go", "");
  await phase(tab, "replying");
  await stage.home.write("go", "");
  await phase(tab, "none");
});

scene("the bubble goes with a stop, a failure and a lost agent", { environment: puppet }, async (stage) => {
  const { tab } = await begin(stage);
  await tab.page.evaluate(watch);
  await tab.send("phases");
  await phase(tab, "preparing");
  await stage.home.write("go", "");
  await phase(tab, "thinking");
  await tab.page.keyboard.press("Escape");
  await phase(tab, "none");
  await tab.sees("Interrupted", "#talk > .entry");
  await tab.send("fail no credit left");
  await tab.sees("no credit left", "#talk > .entry");
  await phase(tab, "none");
  await tab.send("die");
  await tab.sees("exited with code 3", "#talk > .entry");
  await phase(tab, "none");
  const story = await tab.page.evaluate(() => /** @type {any} */ (window).story);
  assert.deepEqual(story.filter((one) => one.includes("not at the end")), []);
  await tab.reload();
  await tab.sees("exited with code 3", "#talk > .entry");
  await phase(tab, "none");
});

scene("the bubble shimmers, unless the reader wants less motion", { environment: puppet }, async (stage) => {
  const { tab } = await begin(stage, { reducedMotion: "no-preference" });
  await tab.send("work");
  await phase(tab, "replying");
  const motion = () => tab.page.$eval("#status", (status) => [".words", ".icon"].map((part) => getComputedStyle(/** @type {Element} */ (status.querySelector(part))).animationName));
  assert.deepEqual(await motion(), ["shimmer", "pulse"]);
  await tab.page.emulateMedia({ reducedMotion: "reduce" });
  assert.deepEqual(await motion(), ["none", "none"]);
  await stage.home.write("go", "");
  await phase(tab, "none");
});

scene("the bubble stands at the end of the session, not at the end of what is loaded of it", { environment: puppet }, async (stage) => {
  const record = (number) => JSON.stringify({ parentUuid: null, isSidechain: false, cwd: "/w", sessionId: "long", type: "user", message: { role: "user", content: `line ${number}` }, uuid: `u-${number}`, timestamp: new Date(Date.UTC(2026, 0, 2, 3, 0, number)).toISOString() });
  await stage.home.write(".claude/projects/-w/long.jsonl", Array.from({ length: 500 }, (_, number) => `${record(number)}\n`).join(""));
  const { tab, session } = await begin(stage);
  await tab.until("the long session in the list", () => document.querySelector("#list [data-id=long]"));
  await tab.open("long");
  await tab.sees("line 499");
  const tail = (hidden) => tab.until(`the end to be ${hidden ? "elsewhere" : "here"}`, (wanted) => document.getElementById("tail")?.hidden === wanted, hidden);
  await tail(false);
  await tab.page.locator("#scroll").focus();
  await tab.page.keyboard.press("g");
  await tab.sees("line 0");
  await tail(true);
  // Another session has an end of its own, even an empty one.
  await tab.open(session);
  await tab.sees("Nothing has been said yet", "#hint");
  await tail(false);
  await tab.send("work");
  await phase(tab, "replying");
  assert.equal(await tab.page.isVisible("#status"), true);
  await stage.home.write("go", "");
  await phase(tab, "none");
});
