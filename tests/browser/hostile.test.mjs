// Agents' output is hostile, and so are other pages: nothing of it runs, nothing leaves, and nobody comes in.

import assert from "node:assert/strict";
import { appendFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:http";
import { equalsExport, recordings } from "./conversation.mjs";
import { scene, until } from "./house.mjs";

/** Everything tries to run `pwned`, to open a dialog, or to ask for something elsewhere. */
const ATTACKS = [
  `<script>window.__pwned=1;alert(1)</script>`,
  `<img src=x onerror="window.__pwned=1;alert(1)">`,
  `"><svg onload=window.__pwned=1><script>window.__pwned=1</script></svg>`,
  `' onmouseover='window.__pwned=1' autofocus onfocus='window.__pwned=1' x='`,
  `[click](javascript:window.__pwned=1) [click](  JaVaScRiPt:alert(1)) <javascript:alert(1)>`,
  `![](http://evil.invalid/x.png) ![](javascript:alert(1)) [a](data:text/html,<script>alert(1)</script>)`,
  `</article></main><iframe srcdoc="<script>parent.__pwned=1</script>"></iframe>`,
  `</pre></code></details></textarea></title></style><style>*{display:none!important}</style><base href=http://evil.invalid/>`,
  `<form action=http://evil.invalid><button autofocus>x</button></form><meta http-equiv=refresh content="0;url=http://evil.invalid/">`,
  "```html\n<script>window.__pwned=1</script>\n```\n\n<a href=\"&#106;avascript:alert(1)\">x</a> {{constructor.constructor('window.__pwned=1')()}}",
  `<template><script>window.__pwned=1</script></template><math><mtext><script>window.__pwned=1</script></mtext></math> <link rel=stylesheet href=http://evil.invalid/x.css>`,
  `\u202e</span>\u0000\u001b]8;;javascript:alert(1)\u0007x\u001b]8;;\u0007\u001b[31m<b onclick=alert(1)>`,
];

/** What a record needs to be understood at all. */
const STRUCTURE = new Set(["type", "role", "uuid", "parentUuid", "id", "tool_use_id", "timestamp", "sessionId", "session_id", "call_id", "parentId", "method", "jsonrpc", "event", "subtype"]);

/** The record with an attack in every text of it; in half of them even the structure is hostile. */
function poisoned(value, next, all, key = "") {
  if (typeof value === "string") return !all && STRUCTURE.has(key) ? value : `${next()} ${value}`;
  if (Array.isArray(value)) return value.map((one) => poisoned(one, next, all, key));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, poisoned(one, next, all, name)]));
  return value;
}

/** Recordings of every dialect, with attacks in them. */
async function poison() {
  let at = 0;
  const next = () => ATTACKS[at++ % ATTACKS.length];
  const sessions = [];
  for (const { dialect, quirk, bytes } of await recordings()) {
    const lines = bytes.toString().split("\n").filter(Boolean);
    const poisonedLine = (line, all) => {
      try {
        return JSON.stringify(poisoned(JSON.parse(line), next, all));
      } catch {
        return next().replaceAll("\n", " ") + line;
      }
    };
    // Three rounds, so that other attacks meet other fields.
    const rounds = [0, 1, 2].flatMap(() => { at++; return lines.map((line) => poisonedLine(line, false)); });
    // The first line is as it was: by it a recording is known.
    sessions.push({ name: `${dialect}-${quirk}`, lines: [lines[0], ...rounds, ...lines.map((line) => poisonedLine(line, true))] });
  }
  return sessions;
}

/** Nothing in the page could run; all cards are opened for it. */
async function isHarmless(tab, where) {
  await tab.page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
  const found = await tab.page.evaluate(() => {
    const bad = [];
    if (/** @type {any} */ (window).__pwned) bad.push("pwned");
    for (const element of document.querySelectorAll("#talk *, #list *, #bar *, main *")) {
      if (element.matches("script, iframe, object, embed, base, meta, link, style, form:not(#composer, .questions-form), svg, math, template")) bad.push(element.outerHTML.slice(0, 200));
      for (const { name, value } of element.attributes) {
        if (name.startsWith("on") || name === "srcdoc" || name === "style" && element.closest("#talk")) bad.push(`${name}=${value.slice(0, 100)}`);
        if (["href", "src", "action", "formaction"].includes(name) && !/^(https?:|mailto:|#|\/(?!\/)|data:image\/)/.test(value)) bad.push(`${name}=${value.slice(0, 100)}`);
        if (name === "src" && /^https?:/.test(value)) bad.push(`src=${value.slice(0, 100)}`);
      }
    }
    return bad;
  });
  assert.deepEqual(found, [], `something harmful is ${where}`);
}

scene("hostile sessions do nothing, live, reloaded and exported", {}, async (stage) => {
  const tab = await stage.visit();
  for (const { name, lines } of await poison()) {
    const path = await stage.home.write(`.claude/projects/-w/${name}.jsonl`, `${lines[0]}\n`);
    await until(`the session ${name}`, async () => (await stage.house.sessions()).some((row) => row.id === name));
    await tab.open(name);
    await tab.until("the session to be open", () => !document.querySelector("#hint .skeleton"));
    await appendFile(path, `${lines.slice(1).join("\n")}\n`);
    const { records } = await until(`all records of ${name}`, async () => {
      const answer = await stage.house.ask(`/api/sessions/${name}/records?from=0&count=1000`);
      return answer.records.length >= lines.length && answer;
    });
    assert.equal(records.length, lines.length);
    await tab.until("entries", () => document.querySelectorAll("#talk > .entry").length > 0);
    await equalsExport(tab, name, `of ${name}`);
    await isHarmless(tab, `in ${name}, live`);
    tab.isQuiet();
  }
  await tab.reload();
  await tab.until("the list", () => document.querySelectorAll("#list a").length > 10);
  await isHarmless(tab, "in the list");
  // Search shows pieces of what was said.
  await tab.search("pwned", (hits) => hits > 0);
  assert.equal(await tab.count("#hits script, #hits img, #hits svg"), 0);
});

scene("an exported page does nothing either", {}, async (stage) => {
  const tab = await stage.visit();
  const sessions = await poison();
  const name = "all-of-claude";
  await stage.home.write(`.claude/projects/-w/${name}.jsonl`, sessions.filter((one) => one.name.startsWith("claude")).flatMap((one) => one.lines).join("\n"));
  await until(`the session ${name}`, async () => (await stage.house.sessions()).some((row) => row.id === name));
  const text = await stage.house.ask(`/api/sessions/${name}/export?format=html`);
  // Opened as a file by itself: no rule of the house protects it there.
  const path = await stage.home.write("export.html", text);
  const file = await stage.tab(tab.page.context());
  await file.page.goto(`file://${path}`);
  assert.ok(await file.count("main > article") > 5);
  await isHarmless(file, "in the export");
  file.outside = file.outside.filter((url) => url !== `file://${path}`);
  file.isQuiet();
});

scene("another page cannot reach the house, and a link lets in once", {}, async (stage) => {
  const link = await stage.house.link();
  const tab = await stage.visit();
  const { page } = tab;
  const cookies = await page.context().cookies(stage.house.url);
  const cookie = cookies.find(({ name }) => name === "parlor_session");
  assert.ok(cookie?.httpOnly, "the cookie is not for scripts");
  assert.ok(["Strict", "Lax"].includes(cookie.sameSite));
  assert.equal(await page.evaluate(() => document.cookie), "");
  assert.ok(!page.url().includes("code="), "the code is gone from the address");
  assert.ok(!(await page.content()).includes(stage.house.token), "the page never sees the token");

  // Same host, other port: for cookies that is the same site, so that the browser sends them.
  const foreign = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<!doctype html><title>foreign</title>"));
  foreign.listen(0, "127.0.0.1");
  await once(foreign, "listening");
  try {
    const { port } = /** @type {import("node:net").AddressInfo} */ (foreign.address());
    const other = await page.context().newPage();
    await other.goto(`http://127.0.0.1:${port}/`);
    const tried = await other.evaluate(async (house) => {
      const read = (path, how) => fetch(house + path, { credentials: "include", ...how }).then(async (answer) => `${answer.type} ${await answer.text()}`.trim(), () => "refused");
      const socket = await new Promise((end) => {
        const opened = new WebSocket(`${house.replace("http", "ws")}/ws`);
        opened.onmessage = (event) => end(`heard ${event.data}`);
        opened.onopen = () => end("opened");
        opened.onclose = () => end("closed");
      });
      return {
        socket,
        list: await read("/api/sessions"),
        search: await read("/api/search?q=a"),
        opaque: await read("/api/sessions", { mode: "no-cors" }),
        create: await read("/api/sessions", { method: "POST", mode: "no-cors", body: JSON.stringify({ agent: "demo", cwd: "/" }) }),
        link: await read("/api/link", { method: "POST", body: "{}" }),
      };
    }, stage.house.url);
    assert.deepEqual(tried, { socket: "closed", list: "refused", search: "refused", opaque: "refused", create: "refused", link: "refused" });
    assert.equal((await stage.house.sessions()).length, 0, "no session was made");
    const framed = await other.evaluate(async (house) => {
      const frame = document.createElement("iframe");
      const loaded = new Promise((end) => { frame.onload = end; });
      frame.src = house;
      document.body.append(frame);
      await loaded;
      try {
        return frame.contentDocument === null ? "closed" : "open";
      } catch {
        return "closed";
      }
    }, stage.house.url);
    assert.equal(framed, "closed");
    const inner = other.frames().find((frame) => frame.url().startsWith(stage.house.url));
    assert.ok(!inner || await inner.locator("#composer").count() === 0, "the house is not shown in another page's frame");
    await other.close();
  } finally {
    foreign.close();
  }

  // Whoever has no cookie: the first link lets in, and a second time it does not.
  const answers = [];
  for (let times = 0; times < 2; times++) {
    const code = new URLSearchParams(new URL(link).hash.slice(1)).get("code");
    const answer = await fetch(`${stage.house.url}/api/session`, { method: "POST", headers: { "content-type": "application/json", origin: stage.house.url }, body: JSON.stringify({ code }) });
    answers.push(answer.status);
  }
  assert.equal(Math.floor(answers[0] / 100), 2);
  assert.equal(answers[1], 401);
  const stranger = await stage.stranger();
  stranger.forgive = /401/;
  await stranger.page.goto(link);
  await stranger.sees("This link was already used", "main");
  assert.equal(await stranger.count("#list a"), 0);
});
