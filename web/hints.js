// @ts-check
// What stands where no conversation does: while one loads, in an empty one, with none chosen, and on the first visit.

import { byId, fill, icon, make, withCode } from "./dom.js";
import { toast } from "./notices.js";

const DEMO_PROMPT = "Show me what you can do.";

/**
 * @param {object} wiring
 * @param {import("./conversation.js").Conversation} wiring.conversation
 * @param {import("./sessions.js").Sessions} wiring.sessions
 * @param {import("./start.js").Start} wiring.start
 * @param {() => boolean} wiring.mayWrite
 * @param {() => import("./types.js").Agent[]} wiring.agents
 * @param {() => string} wiring.home
 */
export function createHints({ conversation, sessions, start, mayWrite, agents, home }) {
  const element = byId("hint", HTMLElement);
  const composer = byId("composer", HTMLElement);
  let loading = false;
  let shown = "";

  /** @returns {"none" | "loading" | "empty" | "choose" | "first"} */
  function which() {
    if (!conversation.id()) return sessions.isEmpty() && sessions.isComplete() ? "first" : "choose";
    if (conversation.hasEntries() || byId("pending", HTMLElement).childElementCount > 0) return "none";
    return loading || !conversation.state() ? "loading" : "empty";
  }

  function show() {
    const now = which();
    composer.hidden = !conversation.id();
    document.body.classList.toggle("no-session", !conversation.id());
    const key = `${now} ${agents().length} ${mayWrite()}`;
    if (key === shown) return;
    shown = key;
    element.hidden = now === "none";
    fill(element, ...content(now));
  }

  /** @param {ReturnType<typeof which>} now */
  function content(now) {
    switch (now) {
      case "loading": return [make("div", { class: "skeleton", role: "status", "aria-label": "Loading" }, make("i"), make("i"), make("i"))];
      case "empty": return [icon("message"), make("h3", {}, "Nothing has been said yet"), make("p", {}, mayWrite() ? "Write the first message below. Enter sends, Shift+Enter makes a new line." : "What is said will appear here.")];
      case "choose": return [icon("message"), make("h3", {}, "Choose a session"), make("p", {}, "or start a new one. ", make("span", { class: "desk" }, make("kbd", {}, "/"), " searches all of them, ", make("kbd", {}, "?"), " tells all keys.")), ...startButton()];
      case "first": return welcome();
      default: return [];
    }
  }

  function startButton() {
    return [make("p", { class: "row" },
      make("button", { type: "button", class: "plain narrow", onclick: () => byId("drawer", HTMLButtonElement).click() }, "Sessions"),
      mayWrite() && make("button", { type: "button", class: "plain strong", onclick: () => start.open() }, "New session"))];
  }

  function welcome() {
    const list = agents();
    const found = list.filter((agent) => agent.available && agent.name !== "demo").map((agent) => agent.label);
    const demo = list.some((agent) => agent.name === "demo" && agent.available);
    return [
      make("h3", { class: "hello" }, "Welcome to Parlor"),
      make("p", {}, "Talk with your coding agents here, follow the sessions they write on this machine, and read them again years later."),
      make("p", {}, found.length > 0 ? `On this machine: ${found.join(", ")}.` : "No coding agent was found on this machine yet. The demo shows what a session looks like."),
      make("p", { class: "row" },
        mayWrite() && found.length > 0 && make("button", { type: "button", class: "plain strong", onclick: () => start.open() }, "New session"),
        mayWrite() && demo && make("button", { type: "button", class: `plain${found.length > 0 ? "" : " strong"}`, onclick: runDemo }, "Try the demo")),
      make("ul", { class: "agents-found" }, ...list.filter((agent) => agent.name !== "demo").map((agent) =>
        make("li", {}, make("b", {}, `${agent.available ? "✓" : "–"} ${agent.label}`), make("small", {}, ...withCode(agent.available ? agent.version ?? "" : agent.problem ?? "not installed"))))),
    ];
  }

  async function runDemo() {
    try {
      await start.begin({ agent: "demo", cwd: home(), prompt: DEMO_PROMPT });
    } catch (error) {
      toast(/** @type {Error} */ (error).message);
    }
  }

  return {
    show,
    /** @param {boolean} now */
    opening(now) {
      loading = now;
      show();
    },
  };
}
