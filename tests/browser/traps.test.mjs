// Traps of pages that show live sessions: history that speaks, replies that flash, sessions that mix, and signs that stay.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { AWAY, puppet, scene, until } from "./house.mjs";

/** One line of a session of Claude Code. */
function line(session, number, text) {
  const [type, message] = number % 2 === 0
    ? ["user", { role: "user", content: text }]
    : ["assistant", { id: `msg-${number}`, role: "assistant", model: "claude-x", stop_reason: "end_turn", content: [{ type: "text", text }] }];
  return `${JSON.stringify({ parentUuid: null, isSidechain: false, cwd: "/w", sessionId: session, type, message, uuid: `${session}-${number}`, timestamp: new Date(Date.UTC(2026, 0, 2, 3, 0, number)).toISOString() })}\n`;
}

const lines = (session, count) => Array.from({ length: count }, (_, number) => line(session, number, `${session} says ${number}`)).join("");

const listed = (house, id) => until(`the session ${id}`, async () => (await house.sessions()).some((row) => row.id === id));

/** Counts notifications instead of showing them, and says that the page is hidden, as it is when they matter. */
function listen() {
  const told = /** @type {any} */ (window).told = [];
  localStorage.setItem("parlor.notify", "true");
  /** @type {any} */ (window).Notification = class extends EventTarget {
    static permission = "granted";
    constructor(title) { super(); told.push(title); }
  };
  Object.defineProperty(document, "hidden", { get: () => true });
  const region = (id) => new MutationObserver(() => told.push(document.getElementById(id)?.textContent)).observe(/** @type {Node} */ (document.getElementById(id)), { childList: true, characterData: true, subtree: true });
  document.addEventListener("DOMContentLoaded", () => { region("polite"); region("urgent"); });
}

scene("history is neither read out nor notified about; news is", {}, async (stage) => {
  const path = await stage.home.write(".claude/projects/-w/old.jsonl", lines("old", 40));
  await listed(stage.house, "old");
  const tab = await stage.stranger();
  tab.forgive = AWAY;
  await tab.page.addInitScript(listen);
  await tab.page.goto(await stage.house.link());
  await tab.ready();
  await tab.open("old");
  await tab.sees("old says 39");
  const told = () => tab.page.evaluate(() => /** @type {any} */ (window).told);
  assert.deepEqual(await told(), [], "opening says nothing");
  await tab.reload();
  await tab.sees("old says 39");
  stage.house.cut();
  await tab.until("the page to notice", () => document.body.classList.contains("offline"));
  stage.house.mend();
  await tab.ready();
  assert.deepEqual(await told(), [], "nor does a reload or a connection that comes back");
  await appendFile(path, line("old", 40, "one more question") + line("old", 41, "one more answer"));
  await tab.sees("one more answer");
  await until("the answer to be read out", async () => (await told()).some((words) => words.includes("one more answer")));
  assert.ok(!(await told()).some((words) => /old says/.test(words)), "only the news was said");
});

scene("a reply that streams and is then complete keeps its place, its elements and every word", { environment: puppet }, async (stage) => {
  const { session } = await stage.house.ask("/api/sessions", { method: "POST", body: JSON.stringify({ agent: "claude", cwd: stage.home.folder }) });
  const tab = await stage.visit();
  await tab.open(session);
  await tab.sees("Nothing has been said yet", "#hint");
  // Whatever goes away again is a flash: an element of the conversation, or words that were there.
  await tab.page.evaluate(() => {
    const flashes = /** @type {any} */ (window).flashes = [];
    const talk = /** @type {HTMLElement} */ (document.getElementById("talk"));
    let said = "";
    new MutationObserver((changes) => {
      for (const { removedNodes } of changes) for (const node of removedNodes) if (node instanceof HTMLElement && !node.matches(".caret, [data-my-own]")) flashes.push(node.outerHTML);
      const now = talk.querySelector(".entry.assistant .prose")?.textContent ?? "";
      if (!now.startsWith(said)) flashes.push(`${said} -> ${now}`);
      said = now;
    }).observe(talk, { childList: true, subtree: true, characterData: true });
  });
  const text = ["A plan, one", "and two:", "", "- **three**", "- `four`", "", "```", "five", "```", "", "and six."];
  await tab.page.fill("#message", `drip ${text.join("\n")}`);
  await tab.page.press("#message", "Enter");
  for (const part of text) {
    await stage.home.write("go", "");
    await until("the step to be taken", () => !existsSync(stage.home.path("go")));
    await tab.sees(/one|two|three|four|five|six/.exec(part)?.[0] ?? "", "#talk > .entry.assistant");
  }
  await tab.until("the reply to be complete", () => !document.querySelector("#talk .caret") && document.getElementById("stop")?.hidden);
  assert.deepEqual(await tab.page.evaluate(() => /** @type {any} */ (window).flashes), []);
  assert.equal(await tab.count("#talk > .entry.assistant"), 1);
});

scene("what comes late for a session that was left is not shown in the one that is open", {}, async (stage) => {
  const paths = [];
  for (const id of ["left", "open"]) {
    paths.push(await stage.home.write(`.claude/projects/-w/${id}.jsonl`, lines(id, 300)));
    await listed(stage.house, id);
  }
  const tab = await stage.visit();
  await tab.open("left");
  await tab.sees("left says 299");
  // Back and forth faster than the house answers, while both of them grow.
  for (let turn = 0; turn < 15; turn++) {
    await appendFile(paths[0], line("left", 300 + turn, `left says ${300 + turn}`));
    await appendFile(paths[1], line("open", 300 + turn, `open says ${300 + turn}`));
    await tab.page.evaluate(() => { for (const id of ["open", "left", "open"]) { location.hash = `#/s/${id}`; dispatchEvent(new HashChangeEvent("hashchange")); } });
  }
  await tab.sees("open says 314");
  assert.equal(await tab.count("#talk > .entry", "left says"), 0);
  assert.match(await tab.page.innerText("#title"), /^open says/);
  await appendFile(paths[0], line("left", 316, "left says the last word"));
  await appendFile(paths[1], line("open", 316, "open says the last word"));
  await tab.sees("open says the last word");
  assert.equal(await tab.count("#talk > .entry", "left says"), 0);
});

scene("a turn that ended while the page was away is not shown as running", { environment: puppet }, async (stage) => {
  const { session } = await stage.house.ask("/api/sessions", { method: "POST", body: JSON.stringify({ agent: "claude", cwd: stage.home.folder }) });
  const tab = await stage.visit();
  tab.forgive = AWAY;
  await tab.open(session);
  await tab.sees("Nothing has been said yet", "#hint");
  await tab.send("work");
  await tab.sees("working", "#talk > .entry.assistant");
  await tab.until("the bubble", () => !document.getElementById("status")?.hidden);
  stage.house.cut();
  await tab.until("the page to notice", () => document.body.classList.contains("offline"));
  await stage.home.write("go", "");
  await until("the turn to end", async () => (await stage.house.ask(`/api/sessions/${session}`)).phase.phase === "idle");
  stage.house.mend();
  await tab.ready();
  await tab.sees("gone", "#talk > .entry.assistant");
  await tab.until("no sign of work", () => document.getElementById("status")?.hidden && document.getElementById("stop")?.hidden && !document.querySelector("#list .dot.running"));
});

scene("a house that died in the middle of a call leaves no call open", { environment: puppet }, async (stage) => {
  const { session } = await stage.house.ask("/api/sessions", { method: "POST", body: JSON.stringify({ agent: "claude", cwd: stage.home.folder }) });
  const tab = await stage.visit();
  tab.forgive = AWAY;
  await tab.open(session);
  await tab.sees("Nothing has been said yet", "#hint");
  await tab.send("ask sweep");
  await tab.page.locator("#talk .card.pending").waitFor();
  await stage.house.kill();
  await stage.house.start();
  await tab.ready();
  await tab.until("the call to be closed", () => document.querySelector("#talk .card.interrupted") && !document.querySelector("#talk .card.pending") && !document.querySelector("#talk .ask .answers"));
  await tab.until("no sign of work", () => document.getElementById("status")?.hidden && document.getElementById("stop")?.hidden);
});
