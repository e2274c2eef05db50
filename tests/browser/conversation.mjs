// What a conversation holds, as the page shows it and as the export has it, and the recordings to make one from.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { OFFSET_S, PATIENCE_MS, WORKSPACE } from "./house.mjs";

/** @typedef {import("./house.mjs").Tab} Tab */

/** The recordings of the corpus: each dialect and quirk. */
export async function recordings() {
  const folder = join(WORKSPACE, "corpus");
  const found = [];
  for (const dialect of (await readdir(folder)).sort()) {
    for (const quirk of (await readdir(join(folder, dialect))).sort()) {
      const path = join(folder, dialect, quirk, "input.jsonl");
      if (existsSync(path)) found.push({ dialect, quirk, bytes: readFileSync(path) });
    }
  }
  return found;
}

/**
 * What a conversation consists of: dates and entries, as they were served. What the page adds to entries is left out, and so
 * are entries that show nothing.
 */
export function entriesOf(/** @type {Element} */ main) {
  return [...main.children].filter((child) => !child.hasAttribute("hidden") && !child.matches(".empty")).map((child) => {
    const copy = /** @type {Element} */ (child.cloneNode(true));
    copy.querySelectorAll("[data-my-own]").forEach((own) => own.remove());
    for (const element of [copy, ...copy.querySelectorAll("*")]) {
      for (const { name } of [...element.attributes]) if (name.startsWith("data-my-") || name === "tabindex") element.removeAttribute(name);
    }
    return copy.outerHTML;
  });
}

/** The entries in the page. @param {Tab} tab */
export function shown(tab) {
  return tab.page.evaluate(`(${entriesOf})(document.getElementById("talk"))`);
}

/**
 * The entries in the export, read by the same browser. The style sheet in it would be against the rules of the page.
 * @param {Tab} tab
 * @param {string} session
 */
export function exported(tab, session) {
  const path = `/api/sessions/${encodeURIComponent(session)}/export?format=html&offset_s=${OFFSET_S}`;
  return tab.page.evaluate(`fetch(${JSON.stringify(path)}).then((answer) => answer.text()).then((text) =>
    (${entriesOf})(new DOMParser().parseFromString(text.slice(text.indexOf("<main"), text.lastIndexOf("</main>")), "text/html").querySelector("main")))`);
}

/**
 * Waits until the page shows what the export holds; says what differs when it never does.
 * @param {Tab} tab
 * @param {string} session
 * @param {string} when
 */
export async function equalsExport(tab, session, when) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    // A page that has just lost its house can neither be asked nor ask; it is asked again.
    const [live, kept] = await Promise.all([shown(tab), exported(tab, session)]).catch(() => [["the page"], ["did not answer"]]);
    if (JSON.stringify(live) === JSON.stringify(kept)) return live;
    if (Date.now() > end) assert.deepEqual(live, kept, `what the page shows ${when} is not what was exported`);
    await new Promise((next) => setTimeout(next, 100));
  }
}
