// @ts-check
// A new session: with which agent, where, and how far it may go. It starts one and opens it.

import { askJson } from "./api.js";
import { openDialog } from "./dialog.js";
import { fill, make, withCode } from "./dom.js";
import { shortPath, tilde } from "./format.js";
import { MODES } from "./looks.js";
import { newId } from "./orders.js";
import { recall, remember } from "./preferences.js";

/** @typedef {import("./types.js").Agent} Agent */

/** The folders of the newest sessions that are still there; none where the house does not say. */
async function recentFolders() {
  const answer = await askJson("/api/folders").catch(() => ({ folders: [] }));
  return /** @type {import("./types.js").Folders} */ (answer).folders;
}

/**
 * @param {object} wiring
 * @param {import("./socket.js").Socket} wiring.socket
 * @param {import("./orders.js").Order} wiring.order
 * @param {() => Agent[]} wiring.agents
 * @param {() => string} wiring.home
 * @param {(session: string) => void} wiring.open
 */
export function createStart({ socket, order, agents, home, open: openSession }) {
  /** True from the wish to start until its dialog is there: a second press means the same. */
  let opening = false;

  /** Shows the agents anew in the dialog that is open. */
  let redraw = () => {};

  /**
   * @param {{agent: string, cwd: string, model?: string | null, mode?: string, prompt?: string}} what
   */
  async function begin({ agent, cwd, model = null, mode = "ask", prompt = "" }) {
    const answer = await socket.request({ type: "create", agent, cwd, model, mode });
    const session = String(answer.session);
    if (prompt.trim()) await order({ order: "prompt", text: prompt.trim() }, newId(), session);
    openSession(session);
    return session;
  }

  async function open() {
    if (opening) return;
    opening = true;
    const recent = await recentFolders();
    opening = false;
    const last = recall("start", { agent: "", cwd: "", mode: "ask" });
    const folder = make("input", { name: "cwd", required: true, list: "recent-folders", spellcheck: "false", autocapitalize: "off", autocomplete: "off" });
    folder.value = recent[0] ?? (last.cwd || home());
    const models = make("datalist", { id: "agent-models" });
    const model = make("input", { name: "model", list: "agent-models", placeholder: "The agent's own choice", spellcheck: "false", autocomplete: "off" });
    const prompt = make("textarea", { name: "prompt", rows: "3", placeholder: "What should it do? (optional)" });
    const problem = make("p", { class: "problem", role: "alert", hidden: true });
    const start = make("button", { type: "submit", class: "plain strong" }, "Start");
    const choice = make("fieldset", { class: "agents" });
    const form = make("form", { class: "start" },
      choice,
      make("label", {}, "Folder", folder),
      make("datalist", { id: "recent-folders" }, ...recent.map((path) => make("option", { value: path }))),
      recent.length > 1 && make("div", { class: "recent", role: "group", "aria-label": "Recent folders" }, ...recent.slice(0, 5).map((path) =>
        make("button", { type: "button", class: "plain", title: path, onclick: () => { folder.value = path; } }, shortPath(tilde(path, home()), 30)))),
      make("fieldset", { class: "modes" }, make("legend", {}, "It may"), ...MODES.map(([value, words, title]) =>
        make("label", { title }, make("input", { type: "radio", name: "mode", value, checked: value === (last.mode ?? "ask") }), make("span", {}, words, make("small", {}, title))))),
      make("label", {}, "Model", model), models,
      make("label", {}, "First message", prompt),
      problem,
      make("footer", {}, make("kbd", { class: "desk" }, "Ctrl+Enter"), start));
    const choose = () => {
      const available = agents().filter((agent) => agent.available);
      const wanted = new FormData(form).get("agent") ?? last.agent;
      const chosen = available.find((agent) => agent.name === wanted) ?? available[0];
      fill(choice, make("legend", {}, "Agent"), ...available.map((agent) => agentChoice(agent, agent === chosen)),
        absent(agents().filter((agent) => !agent.available)),
        agents().length === 0 && make("p", { class: "soft", role: "status" }, "Looking for agents on this machine…"));
      start.disabled = !chosen;
      suggest();
    };
    const suggest = () => {
      const name = new FormData(form).get("agent");
      const names = agents().find((agent) => agent.name === name)?.models ?? [];
      models.replaceChildren(...names.map((one) => make("option", { value: one })));
    };
    form.addEventListener("change", suggest);
    prompt.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) form.requestSubmit();
    });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const data = new FormData(form);
      const what = { agent: String(data.get("agent")), cwd: expand(String(data.get("cwd")).trim(), home()), mode: String(data.get("mode") ?? "ask") };
      remember("start", what);
      start.disabled = true;
      try {
        await begin({ ...what, model: String(data.get("model")).trim() || null, prompt: String(data.get("prompt")) });
        dialog.close();
      } catch (error) {
        problem.textContent = /** @type {Error} */ (error).message;
        problem.hidden = false;
        start.disabled = false;
      }
    });
    choose();
    redraw = choose;
    const dialog = openDialog("New session", { onClose: () => { redraw = () => {}; } }, form);
    // A keyboard on the screen would cover what there is to choose.
    if (!matchMedia("(pointer: coarse)").matches) prompt.focus();
  }

  return { open, begin, /** Who the agents are is known only now. */ refresh: () => redraw() };
}

/** @typedef {ReturnType<typeof createStart>} Start */

/**
 * @param {Agent} agent
 * @param {boolean} checked
 */
function agentChoice(agent, checked) {
  return make("label", { class: agent.available ? "" : "unavailable" },
    make("input", { type: "radio", name: "agent", value: agent.name, checked, disabled: !agent.available, required: true }),
    make("span", {}, make("b", {}, agent.label), agent.version && make("small", {}, agent.version),
      agent.problem && make("small", { class: "problem" }, ...withCode(agent.problem)),
      !agent.available && !agent.problem && make("small", { class: "problem" }, "not installed")));
}

/**
 * The agents that cannot be chosen, each with what it lacks. They stand back: what can be chosen is what people look for.
 * @param {Agent[]} agents
 */
function absent(agents) {
  if (agents.length === 0) return null;
  return make("details", { class: "absent" }, make("summary", {}, `Not set up: ${agents.map((agent) => agent.label).join(", ")}`),
    ...agents.map((agent) => agentChoice(agent, false)));
}

/**
 * @param {string} path
 * @param {string} home
 */
export function expand(path, home) {
  return path === "~" || path.startsWith("~/") ? home + path.slice(1) : path;
}
