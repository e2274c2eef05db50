// The page is for everybody: checked by axe in both themes and both sizes, nothing wider than a phone, and every way
// without a mouse.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { AXE, puppet, scene, until } from "./house.mjs";

const SOURCE = readFileSync(AXE, "utf8");
const SIZES = [{ name: "wide", viewport: { width: 1280, height: 800 } }, { name: "phone", viewport: { width: 390, height: 844 } }];

/** No serious complaint by axe about what the page shows. */
async function isAccessible(tab, what) {
  // Brought in by the driver, because the page's own rules let no other script in.
  if (!await tab.page.evaluate(() => "axe" in window)) await tab.page.evaluate(SOURCE);
  const violations = await tab.page.evaluate(async () => {
    const result = await /** @type {any} */ (window).axe.run(document, { resultTypes: ["violations"] });
    return result.violations.filter((one) => ["serious", "critical"].includes(one.impact))
      .map((one) => `${one.impact} ${one.id}: ${one.help}: ${one.nodes.slice(0, 4).map((node) => `${node.html.slice(0, 200)} ${node.any.map((any) => any.message).join("; ")}`).join(" | ")}`);
  });
  assert.deepEqual(violations, [], `axe complains about ${what}`);
}

/** Nothing sticks out of the page sideways, unless it scrolls by itself. */
async function fits(tab, what) {
  const wide = await tab.page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > width) return [`the page: ${document.documentElement.scrollWidth}`];
    const hidden = (/** @type {Element | null} */ one) => {
      for (let up = one; up && up !== document.body; up = up.parentElement) if (getComputedStyle(up).overflowX !== "visible") return true;
      return false;
    };
    return [...document.querySelectorAll("body *")].filter((one) => one.checkVisibility() && !one.closest(".unseen, .skip, #sessions") && one.getBoundingClientRect().right > width + 1 && !hidden(one.parentElement))
      .map((one) => one.outerHTML.slice(0, 120));
  });
  assert.deepEqual(wide, [], `${what} is wider than the page`);
}

/** Whatever a finger can press is large enough for it. */
async function hasRoom(tab, what) {
  const small = await tab.page.evaluate(() => {
    const pressed = "button, select, summary, textarea, a.session, [role^=menuitem], input:not([type=radio], [type=checkbox], [type=file]), label:has([type=radio], [type=checkbox])";
    return [...document.querySelectorAll(pressed)].filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest(".cut-tools"))
      .map((one) => ({ height: Math.round(one.getBoundingClientRect().height), html: one.outerHTML.slice(0, 90) })).filter((one) => one.height < 44);
  });
  assert.deepEqual(small, [], `too small for a finger in ${what}`);
}

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  scene(`axe finds nothing serious, ${colorScheme}, wide and on a phone`, { environment: puppet }, async (stage) => {
    const make = async (agent, text) => {
      const { session } = await stage.house.ask("/api/sessions", { method: "POST", body: JSON.stringify({ agent, cwd: stage.home.folder, prompt: text }) });
      return session;
    };
    const [demo, asking] = [await make("demo", "Show me what you can do."), await make("claude", "ask make bread")];
    await until("the demo to end", async () => (await stage.house.sessions()).find((row) => row.id === demo)?.phase === "idle");
    for (const { name, viewport } of SIZES) {
      const tab = await stage.visit({ viewport, colorScheme, hasTouch: name === "phone", isMobile: name === "phone" });
      const check = async (what) => {
        await picture(tab, `${what}-${name}-${colorScheme}`);
        await isAccessible(tab, `${what}, ${name}, ${colorScheme}`);
        await fits(tab, `${what}, ${name}, ${colorScheme}`);
        if (name === "phone") await hasRoom(tab, `${what}, ${colorScheme}`);
      };
      if (name === "phone") await tab.page.click("#drawer");
      await tab.until("the list", () => document.querySelectorAll("#list a").length === 2);
      await check("list");
      await tab.open(demo);
      await tab.sees("This was a recording");
      await tab.page.evaluate(() => document.querySelectorAll("#talk details").forEach((one) => { one.open = true; }));
      await tab.until("the keyboard to reach what scrolls", () => [...document.querySelectorAll("#talk :is(pre, .diff, .table, .input, .whole)")].every((one) => getComputedStyle(one).overflowX === "visible" || one.scrollWidth <= one.clientWidth || /** @type {HTMLElement} */ (one).tabIndex === 0));
      await check("conversation");
      await tab.open(asking);
      await tab.page.locator("#talk .ask .answers").waitFor();
      await check("ask");
      await tab.page.keyboard.press("n");
      await tab.page.locator("dialog form.start").waitFor();
      await check("new-session");
      await tab.page.keyboard.press("Escape");
      await tab.page.keyboard.press("?");
      await tab.page.locator("dialog .keys").first().waitFor();
      await check("keys");
      await tab.page.keyboard.press("Escape");
      await tab.page.click("#menu-open");
      await tab.page.locator("#menu [role=menuitem]").first().waitFor();
      await check("menu");
    }
  });
}

scene("everything goes without a mouse", { environment: puppet }, async (stage) => {
  const make = async (text) => (await stage.house.ask("/api/sessions", { method: "POST", body: JSON.stringify({ agent: "claude", cwd: stage.home.folder, prompt: text }) })).session;
  const session = await make("say a hollyhock");
  const tab = await stage.visit();
  const press = (key) => tab.page.keyboard.press(key);
  const dialog = (open) => tab.until(`${open ? "a" : "no"} dialog`, (wanted) => Boolean(document.querySelector("dialog[open]")) === wanted, open);
  await tab.open(session);
  await tab.sees("hollyhock", "#talk > .entry.assistant");
  await tab.page.locator("#scroll").focus();

  await press("j");
  await tab.until("the focus on an entry", () => document.activeElement?.matches("#talk > .entry"));
  const first = await tab.page.evaluate(() => document.activeElement?.id);
  await press("j");
  await tab.until("the focus on the next entry", (before) => document.activeElement?.matches("#talk > .entry") && document.activeElement.id !== before, first);
  await press("k");
  await tab.until("the focus on the entry before", (before) => document.activeElement?.id === before, first);

  await press("?");
  await dialog(true);
  await press("Escape");
  await dialog(false);

  await press("/");
  await dialog(true);
  await tab.page.keyboard.type("hollyhock");
  await tab.until("a hit", () => document.querySelectorAll("#hits button").length > 0);
  await press("Enter");
  await dialog(false);
  await tab.until("the hit's entry in the address", () => location.hash.includes("/e/"));

  // A new session, from the key to the answer.
  await press("n");
  await dialog(true);
  await tab.until("the field for the first message to have the focus", () => document.activeElement?.matches("dialog [name=prompt]"));
  await tab.page.keyboard.type("work");
  await press("Shift+Tab");
  await press("Tab");
  await press("Tab");
  await tab.until("the start button to have the focus", () => document.activeElement?.matches("dialog [type=submit]"));
  await press("Enter");
  await dialog(false);
  await tab.sees("working", "#talk > .entry.assistant");
  await press("i");
  await tab.until("the focus on the field", () => document.activeElement?.id === "message");
  await tab.page.keyboard.type("say later");
  await press("Enter");
  await tab.sees("say later", "#queue > .chip");
  await tab.until("the stop button", () => !document.getElementById("stop")?.hidden);
  await press("Escape");
  await tab.sees("Interrupted", "#talk > .entry");
  await tab.until("the rest to be held back", () => document.querySelector("#queue .held"));

  await tab.page.locator("#scroll").focus();
  await press("J");
  await tab.until("the other session", (id) => location.hash.includes(id), session);
  await press("s");
  await tab.until("the focus on the filter", () => document.activeElement?.id === "filter");
  await tab.page.keyboard.type("hollyhock");
  await tab.until("one session", () => document.querySelectorAll("#list a").length === 1);
  await press("ArrowDown");
  await tab.until("the focus on the session", () => document.activeElement?.matches("#list a"));

  // To another session from within a half-written message, by its title, once the list has that.
  await tab.page.focus("#message");
  await press("Control+k");
  await tab.until("the focus on the filter", () => document.activeElement?.id === "filter");
  await tab.page.keyboard.type("work");
  await tab.sees("work", "#list a");
  await press("Enter");
  await tab.until("the session that was named", (id) => location.hash.startsWith("#/s/") && !location.hash.includes(id), session);
  await tab.until("the whole list again", () => document.querySelectorAll("#list a").length === 2);
});

/** With PARLOR_PICTURES, what was checked can be looked at. */
async function picture(tab, name) {
  if (process.env.PARLOR_PICTURES) await tab.page.screenshot({ path: `${process.env.PARLOR_PICTURES}/${name}.png` });
}
