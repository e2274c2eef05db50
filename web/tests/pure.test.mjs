// The parts of the page that need no browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { keyMeans } from "../composer.js";
import { awake } from "../conversation.js";
import { age, elapsed, millis, money, oneLine, plural, shortPath, size, tilde, tokens } from "../format.js";
import { usageLines } from "../header.js";
import { outward, patched } from "../patch.js";
import { questionsOf, replyOf } from "../questions.js";
import { mayScroll } from "../reach.js";
import { href, parseRoute } from "../route.js";
import { nextHold } from "../scroll.js";
import { pieces } from "../search.js";
import { folders } from "../sessions.js";
import { backoff } from "../socket.js";
import { expand } from "../start.js";
import { openWords, tieWords } from "../ties.js";

test("a patch keeps UTF-16 units of what there was", () => {
  assert.equal(patched(undefined, { html: "<p>a" }), "<p>a");
  assert.equal(patched("<p>ab</p>", { keep: 4, html: "c</p>" }), "<p>ac</p>");
  assert.equal(patched("😀x", { keep: 2, html: "y" }), "😀y");
  assert.equal(patched(undefined, { keep: 4, html: "c" }), null, "nothing to keep");
  assert.equal(patched("ab", { keep: 4, html: "c" }), null, "less than is to be kept");
});

test("entries are taken in from what is shown outward", () => {
  const order = (places, first) => outward(places.map((n) => ({ n })), first).map((entry) => entry.n);
  assert.deepEqual(order([1, 0, 2, 4, 3], 3), [3, 4, 2, 1, 0]);
  assert.deepEqual(order([2, 1], 0), [1, 2]);
});

test("reconnects wait longer each time, with jitter, and never longer than 20 s", () => {
  assert.equal(backoff(0, () => 0), 200);
  assert.equal(backoff(0, () => 1), 400);
  assert.equal(backoff(3, () => 1), 3200);
  assert.equal(backoff(100, () => 1), 20_000);
  assert.equal(backoff(100, () => 0), 10_000);
});

test("scrolling has three states", () => {
  assert.equal(nextHold("follow", "reader-away"), "paused");
  assert.equal(nextHold("paused", "reader-at-end"), "follow");
  assert.equal(nextHold("follow", "jump"), "pinned");
  assert.equal(nextHold("pinned", "reader-away"), "paused");
  assert.equal(nextHold("pinned", "to-end"), "follow");
});

test("Enter sends, unless it ends a composition", () => {
  const key = (more) => ({ key: "Enter", shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, isComposing: false, ...more });
  const desk = { touch: false };
  assert.equal(keyMeans(key({}), desk), "send");
  assert.equal(keyMeans(key({ shiftKey: true }), desk), "none");
  assert.equal(keyMeans(key({ isComposing: true }), desk), "none");
  assert.equal(keyMeans(key({ keyCode: 229 }), desk), "none");
  assert.equal(keyMeans(key({ ctrlKey: true }), desk), "steer");
  assert.equal(keyMeans(key({ metaKey: true }), desk), "steer");
  assert.equal(keyMeans(key({}), { touch: true }), "none");
  assert.equal(keyMeans(key({ key: "a" }), desk), "none");
});

test("routes go there and back", () => {
  for (const [session, entry] of [["a", null], ["a/b c%", "toolu_1/0#x"], ["é", "ü"]]) {
    assert.deepEqual(parseRoute(href(session, entry)), { session, entry });
  }
  assert.deepEqual(parseRoute(href(null)), { session: null, entry: null });
  for (const hash of ["", "#", "#code=1", "#/x/y", "#/s/"]) assert.equal(parseRoute(hash).session, null);
  assert.equal(parseRoute("#/s/%zz").session, "%zz");
});

test("ages are as short as they go", () => {
  const now = new Date(2026, 10, 18, 12, 0);
  const ago = (seconds) => age(now.getTime() - seconds * 1000, now);
  assert.deepEqual([ago(-5), ago(59), ago(60), ago(7200), ago(86_400 + 3600 * 11), ago(86_400 * 3)], ["now", "now", "1m", "2h", "yesterday", "Sun"]);
  assert.equal(age(new Date(2026, 2, 3).toISOString(), now), "3 Mar");
  assert.equal(age("2024-05-05T00:00:00Z", now), "2024");
  assert.equal(age(null, now), "");
  assert.equal(millis(1_700_000_000), 1_700_000_000_000);
  assert.equal(millis(1_700_000_000_000), 1_700_000_000_000);
});

test("numbers as people read them", () => {
  assert.deepEqual([elapsed(-1), elapsed(4900), elapsed(80_000), elapsed(7_500_000)], ["0 s", "4 s", "1 min 20 s", "2 h 5 min"]);
  assert.deepEqual([tokens(940), tokens(2000), tokens(148_000), tokens(999_900), tokens(1_200_000), tokens(999_960_000), tokens(1_146_400_000)], ["940", "2.0k", "148k", "1.0M", "1.2M", "1.0B", "1.1B"]);
  assert.deepEqual([money(0.214), money(0.001), money(0), money(null), money(NaN)], ["$0.21", "< $0.01", "", "", ""]);
  assert.deepEqual([tilde("/home/me/code", "/home/me"), tilde("/home/meow", "/home/me"), tilde("/home/me", "/home/me"), tilde(null, "/h"), tilde("/x", "")], ["~/code", "/home/meow", "~", "", "/x"]);
  assert.deepEqual([plural(1, "hit"), plural(0, "hit"), size(900), size(2_500_000)], ["1 hit", "0 hits", "900 B", "2.5 MB"]);
  assert.equal(oneLine(" a\n b  c ", 4), "a b…");
  assert.deepEqual([shortPath("~/code/ferry", 20), shortPath("/home/me/code/worktrees/fixes", 20), shortPath("C:\\Users\\me\\code\\ferry", 14), shortPath("/a/very-long-name-indeed", 10)],
    ["~/code/ferry", "…/worktrees/fixes", "…\\code\\ferry", "…/very-long-name-indeed"]);
});

test("sessions are listed by folder, newest first", () => {
  const row = (id, cwd, updated, more = {}) => ({ id, cwd, updated, title: id, agent: "claude", phase: "idle", source: "live", ...more });
  const rows = [row("a", "/x", "2026-01-01T00:00:00Z"), row("b", "/y", "2026-01-03T00:00:00Z"), row("c", "/x", "2026-01-02T00:00:00Z"), row("d", null, "2025-01-01T00:00:00Z"), row("z", "/x", "2026-01-09T00:00:00Z", { archived: true })];
  const shape = (list) => list.map((folder) => [folder.cwd, ...folder.rows.map((one) => one.id)]);
  assert.deepEqual(shape(folders(rows, { words: "", archived: false })), [["/y", "b"], ["/x", "c", "a"], ["", "d"]]);
  assert.deepEqual(shape(folders(rows, { words: "A claude", archived: false })).map((one) => one[0]), ["/y", "/x", ""]);
  assert.deepEqual(shape(folders(rows, { words: "/x c", archived: false })), [["/x", "c", "a"]]);
  assert.deepEqual(shape(folders(rows, { words: "", archived: true })), [["/x", "z"]]);
});

test("marks that make no sense are left out", () => {
  assert.deepEqual(pieces("abcd", [[1, 2]]), [{ text: "a", marked: false }, { text: "b", marked: true }, { text: "cd", marked: false }]);
  assert.deepEqual(pieces("ab", [[1, 9], [2, 1], [-1, 1]]), [{ text: "ab", marked: false }]);
  assert.deepEqual(pieces("abc", [[0, 2], [1, 3]]), [{ text: "ab", marked: true }, { text: "c", marked: false }]);
  assert.deepEqual(pieces("", []), []);
});

test("questions are read whatever is wrong with the rest", () => {
  const asked = questionsOf({ input: { questions: [{ question: "Which?", header: "H", multiSelect: true, options: [{ label: "A", description: "d" }, "B", {}, null] }, {}, "x"] } });
  assert.deepEqual(asked, [{ question: "Which?", header: "H", multiSelect: true, options: [{ label: "A", description: "d" }, { label: "B" }] }]);
  for (const nothing of [null, {}, { input: "frag" }, { input: { questions: 3 } }]) assert.deepEqual(questionsOf(nothing), []);
  assert.deepEqual(replyOf(asked, [{ picked: ["A", "B"], words: " and C " }]), { choice: "reply", answers: [["Which?", "A, B, and C"]] });
  assert.deepEqual(replyOf([], [{ picked: [], words: " yes " }]), { choice: "reply", reason: "yes" });
});

test("what a session used is told in full", () => {
  const lines = usageLines({ id: "s", phase: { phase: "idle" }, context: 76_000, context_window: 200_000, usage: { input: 1000, cache_read: 97_000, output: 2000 }, counts: { prompts: 1, tools: 2, failed: 1 }, cost_usd: 0.21 });
  assert.deepEqual(lines, ["Context: 76k of 200k tokens (38 %)", "In: 98k tokens, 97k of them cached", "Out: 2.0k tokens", "1 prompt, 2 tool calls, 1 failed", "Cost by the agent's own account: $0.21"]);
  assert.deepEqual(usageLines({ id: "s", phase: { phase: "idle" } }), ["0 prompts, 0 tool calls"]);
});

test("a tilde is the home folder", () => {
  assert.deepEqual([expand("~", "/h"), expand("~/a", "/h"), expand("/a", "/h"), expand("~a", "/h")], ["/h", "/h/a", "/a", "~a"]);
});

test("a file that was left in the middle of a turn is not at work", () => {
  const state = { id: "s", phase: { phase: "preparing" }, since: "2026-07-29T00:00:00Z", source: "found", writer: null };
  const later = Date.parse("2026-11-18T00:00:00Z");
  assert.equal(awake(state, later).phase.phase, "unknown");
  assert.equal(awake(state, Date.parse("2026-07-29T00:01:00Z")).phase.phase, "preparing");
  assert.equal(awake({ ...state, writer: "claude (pid 7)" }, later).phase.phase, "preparing");
  assert.equal(awake({ ...state, since: null }, later).phase.phase, "unknown");
  assert.equal(awake({ ...state, source: "live" }, later).phase.phase, "preparing");
});

test("short text is not measured", () => {
  assert.equal(mayScroll("a\nb"), false);
  assert.equal(mayScroll("x".repeat(39)), true);
  assert.equal(mayScroll("a\n".repeat(30)), true);
});

test("a tie is told by what went both ways and what is open", () => {
  const tie = { session: "s", agent: "codex", sent: 2, received: 1, open: 1, waits: true };
  assert.equal(tieWords(tie), "2 messages to it, 1 message from it");
  assert.equal(openWords(tie), "waits for its reply");
  assert.equal(tieWords({ ...tie, sent: 0 }), "1 message from it");
  assert.equal(openWords({ ...tie, waits: false }), "1 without reply");
  assert.equal(openWords({ ...tie, waits: false, open: 0 }), "");
});
