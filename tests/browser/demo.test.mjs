// The first minute of a newcomer: no agent on the machine, one click, and a conversation that can be stopped, read again
// and gone on with.

import assert from "node:assert/strict";
import { equalsExport } from "./conversation.mjs";
import { puppet, scene } from "./house.mjs";

scene("the demo is offered, streams, is stopped by Esc, and goes on", { environment: () => ({ PARLOR_DEMO_SPEED: "1" }) }, async (stage) => {
  const tab = await stage.visit();
  const { page, house } = { page: tab.page, house: stage.house };
  await tab.sees("Welcome to Parlor", "#hint");
  await tab.sees("No coding agent was found", "#hint");
  await page.click("text=Try the demo");
  await tab.sees("Show me what you can do.", "#talk > .entry.user");
  await tab.sees("Welcome to Parlor. This is", "#talk > .entry.assistant");
  await tab.until("the stop button", () => !document.getElementById("stop")?.hidden);
  await page.keyboard.press("Escape");
  await tab.until("the agent to rest", () => document.getElementById("stop")?.hidden);
  await tab.until("the mark of the stop", () => /interrupted|stopped/i.test(document.getElementById("talk")?.textContent ?? ""));
  const [row] = await house.sessions();
  const before = await equalsExport(tab, row.id, "after a stop");

  await tab.reload();
  await tab.sees("Welcome to Parlor. This is");
  assert.deepEqual(await equalsExport(tab, row.id, "after a reload"), before);

  await tab.send("And once more, please.");
  await tab.sees("And once more, please.", "#talk > .entry.user");
  await tab.until("an answer to the second prompt", () => {
    const all = [...document.querySelectorAll("#talk > .entry")];
    const at = all.findIndex((one) => one.textContent?.includes("And once more, please."));
    return at >= 0 && all.slice(at).some((one) => one.matches(".assistant")) && document.getElementById("stop")?.hidden;
  });
  assert.equal(await tab.count("#talk > .entry.user, #pending > *", "And once more, please."), 1, "the prompt stands there once");
  await equalsExport(tab, row.id, "after the second turn");
});

scene("messages wait in a queue that can be changed, and each prompt stands once", { environment: puppet }, async (stage) => {
  const { session } = await stage.house.ask("/api/sessions", { method: "POST", body: JSON.stringify({ agent: "claude", cwd: stage.home.folder }) });
  const tab = await stage.visit();
  const chips = "#queue > .chip";
  await tab.open(session);
  await tab.sees("Nothing has been said yet", "#hint");
  await tab.send("work");
  await tab.sees("working", "#talk > .entry.assistant");
  assert.equal(await tab.count("#talk > .entry.user, #pending > *"), 1, "the prompt that was shown at once gave way to its entry");

  await tab.send("say one");
  await tab.sees("say one", chips);
  await tab.send("say two");
  await tab.send("say three");
  await tab.until("three chips that the house knows", (where) => document.querySelectorAll(`${where}[draggable=true]`).length === 3, chips);
  await tab.page.locator(chips, { hasText: "say two" }).getByRole("button", { name: /Take back/ }).click();
  await tab.until("two chips", (where) => document.querySelectorAll(where).length === 2, chips);
  await tab.page.locator(chips, { hasText: "say one" }).locator(".words").click();
  await tab.page.fill("#queue textarea", "say uno");
  await tab.page.press("#queue textarea", "Enter");
  await tab.sees("say uno", chips);

  // The queue is the house's, not the page's.
  await tab.reload();
  await tab.sees("say uno", chips);
  await tab.sees("say three", chips);
  assert.equal(await tab.count(chips), 2);

  await stage.home.write("go", "");
  await tab.sees("three", "#talk > .entry.assistant");
  await tab.until("an empty queue and rest", () => document.getElementById("queue")?.hidden && document.getElementById("stop")?.hidden);
  const said = await tab.page.$$eval("#talk > .entry.user .words", (all) => all.map((one) => one.textContent));
  assert.deepEqual(said, ["work", "say uno", "say three"]);
  assert.equal(await tab.count("#pending > *"), 0);
  await equalsExport(tab, session, "after the queue");

  // What was said before comes back, and what is being written is left alone.
  const arrow = async (key) => { await tab.page.press("#message", key); return tab.page.inputValue("#message"); };
  await tab.page.fill("#message", "half a");
  assert.equal(await arrow("ArrowUp"), "half a");
  await tab.page.fill("#message", "");
  assert.deepEqual([await arrow("ArrowUp"), await arrow("ArrowUp"), await arrow("ArrowUp"), await arrow("ArrowUp")], ["say three", "say uno", "work", "work"]);
  assert.deepEqual([await arrow("ArrowDown"), await arrow("ArrowDown"), await arrow("ArrowDown")], ["say uno", "say three", ""]);
});

scene("drafts stay, and what happened elsewhere is marked as new", { environment: puppet }, async (stage) => {
  const make = async () => (await stage.house.ask("/api/sessions", { method: "POST", body: JSON.stringify({ agent: "claude", cwd: stage.home.folder }) })).session;
  const [one, other] = [await make(), await make()];
  const tab = await stage.visit();
  await tab.open(one);
  await tab.until("the field", () => !(/** @type {HTMLTextAreaElement} */ (document.getElementById("message")).disabled));
  await tab.page.fill("#message", "half a thought");
  await tab.open(other);
  await tab.until("an empty field", () => /** @type {HTMLTextAreaElement} */ (document.getElementById("message")).value === "");
  await tab.reload();
  await tab.open(one);
  await tab.until("the draft", () => /** @type {HTMLTextAreaElement} */ (document.getElementById("message")).value === "half a thought");

  const order = { order: "prompt", id: "11111111-1111-4111-8111-111111111111", text: "say hello from elsewhere" };
  await stage.house.ask(`/api/sessions/${other}/orders`, { method: "POST", body: JSON.stringify(order) });
  await tab.until("a mark in the list", (id) => document.querySelector(`#list li.unread [data-id="${id}"]`), other);
  await tab.sees("New ·", "#list li.unread small");
  await tab.reload();
  await tab.until("the mark after a reload", (id) => document.querySelector(`#list li.unread [data-id="${id}"]`), other);
  // With the keyboard alone: `u` goes to what is new.
  await tab.page.locator("#scroll").focus();
  await tab.page.keyboard.press("u");
  await tab.sees("hello from elsewhere", "#talk > .entry.assistant");
  await tab.until("no mark", () => !document.querySelector("#list li.unread"));
  await tab.until("the title of the tab", () => /· Parlor$/.test(document.title) && /hello from elsewhere/.test(document.title));
  assert.equal(await tab.page.inputValue("#message"), "");
});
