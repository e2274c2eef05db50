// What an agent asks for is decided in the page: on the call itself, once, in any tab, and for good.

import assert from "node:assert/strict";
import { readFileSync, existsSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { equalsExport } from "./conversation.mjs";
import { puppet, scene, until } from "./house.mjs";

/** What the puppet was told, in order. */
function heard(home) {
  const path = home.path("heard.jsonl");
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n").map((line) => JSON.parse(line)) : [];
}

/** Starts a session with the puppet through the dialog, as a person does. */
async function begin(stage, prompt) {
  const tab = await stage.visit();
  await tab.sees("On this machine: Claude Code", "#hint");
  await tab.page.keyboard.press("n");
  await tab.page.waitForSelector("dialog input[value=claude]:not(:disabled)");
  await tab.page.check("dialog input[value=claude]");
  await tab.page.fill("dialog [name=cwd]", stage.home.folder);
  await tab.page.fill("dialog [name=prompt]", prompt);
  await tab.page.click("dialog button[type=submit]");
  await tab.sees(prompt, "#talk > .entry.user");
  const [row] = await stage.house.sessions();
  return { tab, session: row.id };
}

scene("an ask can be allowed and denied, and the decision stays", { environment: puppet }, async (stage) => {
  const { tab, session } = await begin(stage, "ask make bread");
  const allow = tab.page.locator("#talk .entry .ask .answers button", { hasText: "Allow once" });
  await allow.waitFor();
  assert.match(await allow.locator("xpath=ancestor::article").last().innerText(), /make bread/, "the buttons stand on the call");
  await tab.until("the title to say that someone waits", () => document.title.startsWith("(1)"));
  await tab.until("the list to say it, first of all", () => document.querySelector("#list > section:first-child")?.textContent?.startsWith("Waits for you") && document.querySelector("#list > section:first-child .dot.waiting"));
  assert.match(await tab.page.getAttribute("#icon", "href") ?? "", /f59e0b/, "the icon of the tab says it");
  await allow.click();
  await tab.sees("I was allowed to.");
  await until("the answer to reach the agent", () => heard(stage.home).length === 1);
  assert.equal(heard(stage.home)[0].behavior, "allow");
  await tab.until("the buttons to go", () => !document.querySelector("#talk .ask .answers"));

  await tab.send("ask rm everything");
  await tab.page.locator("#talk .ask .answers button", { hasText: "Deny…" }).click();
  await tab.page.fill("#talk .ask .why input", "not on a Sunday");
  await tab.page.press("#talk .ask .why input", "Enter");
  await tab.sees("I was not allowed to.");
  assert.equal(heard(stage.home)[1].behavior, "deny");
  assert.match(heard(stage.home)[1].message, /not on a Sunday/);
  await tab.until("the title to be plain again", () => !document.title.startsWith("("));
  await tab.until("the list to be plain again", () => !document.querySelector("#list .waits, #list .dot.waiting"));
  assert.doesNotMatch(await tab.page.getAttribute("#icon", "href") ?? "", /f59e0b/);

  const before = await equalsExport(tab, session, "after two answers");
  await tab.reload();
  await tab.sees("I was not allowed to.");
  assert.deepEqual(await equalsExport(tab, session, "after a reload"), before);
  assert.equal(await tab.count("#talk .ask .answers"), 0, "nothing is asked again");
  const words = await tab.page.innerText("#talk");
  assert.match(words, /allowed/i);
  assert.match(words, /denied/i);
});

scene("an ask survives a reload, and another tab answers it", { environment: puppet }, async (stage) => {
  const { tab, session } = await begin(stage, "ask sweep the floor");
  await tab.page.locator("#talk .ask .answers").waitFor();
  await tab.reload();
  await tab.page.locator("#talk .ask .answers").waitFor();
  const other = await stage.beside(tab, session);
  const answers = other.page.locator("#talk .ask .answers");
  await answers.waitFor();
  // With the keyboard alone: `w` goes to what waits, `a` allows it for this session.
  await other.page.locator("#scroll").focus();
  await other.page.keyboard.press("w");
  await other.until("the focus on the ask", () => document.activeElement?.closest(".ask .answers"));
  await other.page.keyboard.press("a");
  await other.sees("I was allowed to.");
  await tab.sees("I was allowed to.");
  await tab.until("the buttons to go in the first tab", () => !document.querySelector("#talk .ask .answers"));
  assert.equal(heard(stage.home).length, 1, "it was answered once");
  const one = await equalsExport(tab, session, "in the first tab");
  assert.deepEqual(await equalsExport(other, session, "in the second tab"), one);
});

scene("a question is answered with an option", { environment: puppet }, async (stage) => {
  const { tab, session } = await begin(stage, "question");
  await tab.page.locator("#talk .ask form label", { hasText: "Blue" }).click();
  await tab.page.locator("#talk .ask form button[type=submit]").click();
  await tab.sees("I was allowed to.");
  assert.deepEqual(heard(stage.home)[0].updatedInput.answers, { "Which colour?": "Blue" });
  await equalsExport(tab, session, "after an answer");
});

/** The puppet, which says its version only when someone has written the file `known`. */
async function slowPuppet(home) {
  const path = await home.write("slow", `#!/usr/bin/env bash\n[ "$1" != --version ] || until [ -e "${home.path("known")}" ]; do sleep 0.05; done\nexec "${puppet().PARLOR_CLAUDE}" "$@"\n`);
  await chmod(path, 0o755);
  return { PARLOR_CLAUDE: path };
}

scene("a dialog that was opened before the agents were known learns of them", { environment: slowPuppet }, async (stage) => {
  const tab = await stage.visit();
  await tab.page.keyboard.press("n");
  await tab.sees("Looking for agents", "dialog .agents");
  assert.equal(await tab.page.isDisabled("dialog button[type=submit]"), true);
  await tab.page.fill("dialog [name=prompt]", "say hello");
  await tab.page.fill("dialog [name=cwd]", stage.home.folder);
  await stage.home.write("known", "");
  await tab.page.check("dialog input[value=claude]");
  assert.equal(await tab.page.inputValue("dialog [name=prompt]"), "say hello", "what was written stays");
  await tab.page.click("dialog button[type=submit]");
  await tab.sees("hello", "#talk > .entry.assistant");
});

scene("what waits in another session is counted, and one key leads there", { environment: puppet }, async (stage) => {
  const { tab } = await begin(stage, "ask water the plants");
  await tab.page.locator("#talk .ask .answers").waitFor();
  const { session } = await stage.house.ask("/api/sessions", { method: "POST", body: JSON.stringify({ agent: "claude", cwd: stage.home.folder }) });
  await tab.open(session);
  await tab.sees("Nothing has been said yet", "#hint");
  await tab.until("the title to count it", () => document.title.startsWith("(1)"));
  await tab.page.locator("#scroll").focus();
  await tab.page.keyboard.press("w");
  await tab.page.locator("#talk .ask .answers").waitFor();
  await tab.until("the focus to be free for keys", () => !document.activeElement?.matches("textarea, input"));
  // Pressed again, the same key leads to the answer itself.
  await tab.page.keyboard.press("w");
  await tab.until("the focus on the ask", () => document.activeElement?.closest(".ask .answers"));
  await tab.page.keyboard.press("y");
  await tab.sees("I was allowed to.");
  await tab.until("the title to be plain again", () => !document.title.startsWith("("));
});
