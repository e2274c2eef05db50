// The message of the status bubble: tier first, then one of that tier that suits the hour and the season.
import assert from "node:assert/strict";
import { test } from "node:test";
import { lookOf, phaseShown } from "../looks.js";
import { ODDS, chanceOf, messageAt, pickMessage, seasonOf, suitable, tierOf, timesOf } from "../status-messages.js";
import { POOL } from "../status-pool.js";

const noon = new Date(2026, 4, 13, 13, 0);

/** A generator with a fixed seed: the same numbers on every machine. */
function chance(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test("the pool holds at least 550 different short messages", () => {
  const all = Object.values(POOL).flatMap((tiers) => Object.values(tiers).flat());
  assert.ok(all.length >= 550, String(all.length));
  assert.equal(new Set(all).size, all.length);
  for (const text of all) assert.ok(text.length > 0 && text.length <= 60 && !text.includes("!"), text);
});

test("tiers come up at 60, 25, 12 and 3 in a hundred, whatever the size of their pools", () => {
  const pool = { other: { common: ["c"], uncommon: Array.from({ length: 90 }, (_, n) => `u${n}`), rare: ["r"], legendary: ["l", "m"] } };
  const random = chance(7);
  const count = { common: 0, uncommon: 0, rare: 0, legendary: 0 };
  for (let n = 0; n < 40_000; n++) count[pickMessage("other", { random, now: noon, pool }).tier]++;
  for (const [tier, share] of ODDS) assert.ok(Math.abs(count[tier] / 40_000 - share) < 0.015, `${tier} ${count[tier]}`);
  assert.deepEqual([0, 0.599, 0.6, 0.849, 0.85, 0.969, 0.97, 0.9999].map(tierOf),
    ["common", "common", "uncommon", "uncommon", "rare", "rare", "legendary", "legendary"]);
});

test("an empty tier falls back to a more common one, and then to a rarer one", () => {
  const at = (number, tiers) => pickMessage("x", { random: () => number, now: noon, pool: { x: tiers } });
  assert.deepEqual(at(0.98, { common: ["c"], uncommon: ["u"] }), { text: "u", tier: "uncommon" });
  assert.deepEqual(at(0.1, { rare: ["r"] }), { text: "r", tier: "rare" });
  assert.equal(at(0.1, {}), null);
});

test("hours and weekends add their messages only then", () => {
  const day = (date, hour) => timesOf(new Date(2026, 4, date, hour));
  assert.deepEqual([day(13, 4), day(13, 5), day(13, 12), day(13, 17), day(13, 22)], [["night"], ["morning"], ["afternoon"], ["evening"], ["night"]]);
  assert.deepEqual(day(16, 9), ["morning", "weekend"]);
  for (const [name, hour] of [["morning", 9], ["afternoon", 14], ["evening", 19], ["night", 23]]) {
    const now = suitable("run", new Date(2026, 4, 13, hour)).common;
    for (const other of ["morning", "afternoon", "evening", "night", "weekend"]) {
      assert.equal(now.includes(POOL[other].common[0]), other === name, `${other} at ${hour}`);
    }
  }
});

test("who is waited for hears only of the waiting", () => {
  assert.deepEqual(suitable("waiting", new Date(2026, 9, 31, 9)), { common: [], uncommon: [], rare: [], legendary: [], ...POOL.waiting });
});

test("seasons add their messages only then", () => {
  const season = (month, date) => seasonOf(new Date(2026, month - 1, date))[0];
  assert.deepEqual([season(10, 31), season(12, 24), season(12, 31), season(1, 1), season(2, 14), season(6, 1), season(10, 1)],
    ["halloween", "christmas", "newYear", "newYear", "valentine", undefined, undefined]);
  assert.ok(suitable("read", new Date(2026, 9, 31, 13)).common.includes(POOL.halloween.common[0]));
  assert.ok(!suitable("read", noon).common.includes(POOL.halloween.common[0]));
});

test("the same message does not come twice in a row where there is another", () => {
  const random = chance(3);
  let last = "";
  for (let n = 0; n < 2000; n++) {
    const { text } = pickMessage("thinking", { random, now: noon, not: last });
    assert.notEqual(text, last);
    last = text;
  }
});

test("every phase and tool has a look, and messages of its kind", () => {
  const executing = (tool) => lookOf({ phase: "executing", tool });
  for (const [look, icon, motion] of [
    [lookOf({ phase: "preparing" }), "hourglass", "sweep"], [executing(""), "hourglass", "sweep"],
    [lookOf({ phase: "thinking" }), "brain", "pulse"], [executing("Bash"), "run", "sweep"], [executing("exec_command"), "run", "sweep"],
    [executing("Read"), "read", "pulse"], [executing("Write"), "pencil", "bounce"], [executing("Edit"), "edit", "bounce"],
    [executing("Grep"), "search", "pulse"], [executing("Glob"), "folder-search", "pulse"], [executing("Task"), "people", "sweep"],
    [executing("WebFetch"), "web", "sweep"], [executing("mcp__a__b"), "mcp", "sweep"], [executing("Whatever"), "gear", "sweep"],
    [lookOf({ phase: "waiting", tool: "Bash" }), "hand", "pulse"],
  ]) {
    assert.deepEqual([look.icon, look.motion], [icon, motion]);
    assert.ok(POOL[look.kind], look.kind);
  }
  for (const phase of [{ phase: "idle" }, { phase: "unknown" }, null, undefined]) assert.equal(lookOf(phase), null);
});

test("the same phase says the same words at the same time, and others say others", () => {
  const said = (phase, turn) => messageAt("thinking", { phase, turn, now: noon })?.text;
  const turns = Array.from({ length: 40 }, (_, turn) => said("a thinking 1", turn));
  assert.deepEqual(Array.from({ length: 40 }, (_, turn) => said("a thinking 1", turn)), turns);
  assert.ok(new Set(turns).size > 15, "words change from turn to turn");
  assert.notDeepEqual(Array.from({ length: 40 }, (_, turn) => said("b thinking 1", turn)), turns);
  const random = chanceOf("x");
  const numbers = Array.from({ length: 2000 }, random);
  assert.ok(numbers.every((number) => number >= 0 && number < 1));
  assert.ok(Math.abs(numbers.reduce((sum, number) => sum + number, 0) / 2000 - 0.5) < 0.03);
});

test("a prompt that was sent, or waits for its agent to start, is work already; a held one is not", () => {
  const state = (phase, more = {}) => ({ id: "s", phase: { phase }, ...more });
  const queue = [{ id: "p", text: "x" }];
  assert.equal(phaseShown(null, false), null);
  assert.deepEqual(phaseShown(null, true), { phase: "preparing" });
  assert.equal(phaseShown(state("idle"), false), null);
  assert.deepEqual(phaseShown(state("idle"), true), { phase: "preparing" });
  assert.deepEqual(phaseShown(state("idle", { queue }), false), { phase: "preparing" });
  assert.equal(phaseShown(state("idle", { queue, held: true }), false), null);
  assert.equal(phaseShown(state("unknown"), false), null);
  for (const phase of ["preparing", "thinking", "replying", "executing", "waiting"]) assert.deepEqual(phaseShown(state(phase), true), { phase });
});
