// How the page's modules hang together: each has one concern, and only one of them knows how they are wired.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const folder = new URL("../", import.meta.url);
const sources = new Map(readdirSync(folder).filter((name) => name.endsWith(".js")).map((name) => [name, readFileSync(new URL(name, folder), "utf8")]));
const imports = new Map([...sources].map(([name, text]) => [name, [...text.matchAll(/^import .* from "\.\/([^"]+)";$/gm)].map((match) => match[1])]));

test("what comes in has a handler each, and none of them knows another", () => {
  // Entries with their text, thoughts and calls; the status; asks; stops and the queue; what is read out.
  const handlers = ["patch.js", "status.js", "asks.js", "composer.js", "announce.js", "header.js", "sessions.js", "scroll.js"];
  for (const name of handlers) {
    assert.ok(sources.has(name), name);
    const known = imports.get(name)?.filter((other) => handlers.includes(other) || other === "main.js" || other === "conversation.js");
    assert.deepEqual(known, [], `${name} knows ${known}`);
  }
  assert.deepEqual([...imports].filter(([, known]) => known.includes("main.js")), []);
});

test("modules know each other one way", () => {
  const done = new Set();
  const visit = (name, path) => {
    assert.ok(!path.includes(name), [...path, name].join(" knows "));
    if (done.has(name)) return;
    for (const other of imports.get(name) ?? []) visit(other, [...path, name]);
    done.add(name);
  };
  for (const name of sources.keys()) visit(name, []);
  assert.equal(done.size, sources.size);
});

test("HTML is a string in one file only, and says so", () => {
  const html = /innerHTML|outerHTML|insertAdjacentHTML|DOMParser|createContextualFragment|document\.write|setHTMLUnsafe/;
  assert.deepEqual([...sources].filter(([, text]) => html.test(text)).map(([name]) => name), ["patch.js"]);
  for (const [name, text] of sources) {
    assert.match(text, /^\/\/ @ts-check\n\/\/ [A-Z]/, `${name} says what it is for`);
    assert.ok(text.split("\n").length < 300 || name === "status-pool.js", `${name} is long`);
  }
});
