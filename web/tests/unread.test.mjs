// What counts as news in the list: whatever came later than this browser last showed the session.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { createUnread } from "../unread.js";

/** What a browser keeps. */
const kept = new Map();
globalThis.localStorage = /** @type {any} */ ({ getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => kept.set(name, text), removeItem: (name) => kept.delete(name) });
beforeEach(() => kept.clear());

const at = (seconds) => 1_800_000_000_000 + 1000 * seconds;
const row = (id, seconds) => /** @type {any} */ ({ id, updated: new Date(at(seconds)).toISOString() });

test("what was there at the first visit is nobody's news, and what comes later is", () => {
  const unread = createUnread(() => at(99));
  assert.equal(unread.asker()(row("a", 50)), false, "nothing is known yet");
  unread.begin([row("a", 10), row("b", 20)]);
  const isUnread = unread.asker();
  assert.deepEqual([row("a", 10), row("b", 20), row("c", 15), row("a", 30)].map(isUnread), [false, false, false, true]);
  unread.begin([row("a", 1000)]);
  assert.equal(unread.asker()(row("a", 30)), true, "it begins once");
  assert.equal(createUnread(() => at(99)).asker()(row("a", 30)), true, "also after a reload");
});

test("a session that was shown has no news until something comes, whatever this machine's clock says", () => {
  for (const clock of [at(40), at(-90_000), at(90_000)]) {
    kept.clear();
    const unread = createUnread(() => clock);
    unread.begin([row("a", 10)]);
    unread.seen(row("a", 40));
    assert.equal(unread.asker()(row("a", 40)), false);
    assert.equal(unread.asker()(row("a", 46)), true, `at ${clock}`);
    assert.equal(createUnread(() => clock).asker()(row("a", 40)), false, "also after a reload");
  }
});

test("sessions that had to be forgotten do not become news again", () => {
  const unread = createUnread(() => at(0));
  unread.begin([row("a", 10)]);
  for (let number = 0; number < 400; number++) unread.seen(row(`s${number}`, 100 + number));
  const isUnread = unread.asker();
  assert.equal(isUnread(row("s0", 100)), false);
  assert.equal(isUnread(row("s50", 150)), false);
  assert.equal(isUnread(row("s399", 499)), false);
  assert.equal(isUnread(row("s399", 600)), true);
  assert.ok(Object.keys(JSON.parse(kept.get("parlor.seen"))).length <= 300);
});
