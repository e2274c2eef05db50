// @ts-check
// Where people write. It keeps drafts, sends prompts and shows them before the house does; it must not draw entries.

import { byId, fill, icon, make } from "./dom.js";
import { createFiles } from "./files.js";
import { MODES, isBusy, isStarting } from "./looks.js";
import { newId } from "./orders.js";
import { recall, rememberBySession } from "./preferences.js";
import { createQueue } from "./queue.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").Agent} Agent */

/**
 * What a key means to the composer.
 * @param {{key: string, shiftKey: boolean, ctrlKey: boolean, metaKey: boolean, altKey: boolean, isComposing: boolean, keyCode?: number}} event
 * @param {{touch: boolean}} device On a phone, Enter is a new line.
 * @returns {"send" | "steer" | "none"}
 */
export function keyMeans(event, { touch }) {
  // 229 is what some browsers say for the Enter that ends a composition.
  if (event.key !== "Enter" || event.isComposing || event.keyCode === 229 || event.altKey) return "none";
  if (event.ctrlKey || event.metaKey) return "steer";
  return event.shiftKey || touch ? "none" : "send";
}

/**
 * @param {object} wiring
 * @param {HTMLElement} wiring.pending Where prompts stand until the house shows them.
 * @param {(order: Record<string, unknown>, id?: string) => Promise<unknown>} wiring.order
 * @param {(message: string) => void} wiring.complain
 * @param {(agent: string) => Agent | undefined} wiring.agent
 * @param {() => boolean} wiring.mayWrite
 * @param {() => void} wiring.onSent
 * @param {() => void} wiring.onPending Something is on its way, or no longer.
 */
export function createComposer({ pending, order, complain, agent, mayWrite, onSent, onPending }) {
  const form = byId("composer", HTMLFormElement);
  const field = byId("message", HTMLTextAreaElement);
  const note = byId("composer-note", HTMLElement);
  const send = byId("send", HTMLButtonElement);
  const stop = byId("stop", HTMLButtonElement);
  const steer = byId("steer", HTMLButtonElement);
  const who = byId("who", HTMLElement);
  const model = byId("model", HTMLSelectElement);
  const mode = byId("mode", HTMLSelectElement);
  const picker = byId("picker", HTMLInputElement);
  const files = createFiles({ shelf: byId("shelf", HTMLElement), complain });
  const queue = createQueue({ list: byId("queue", HTMLElement), order: (what) => { tell(order(what)); } });
  /** @type {State | null} */
  let state = null;
  /** @type {string | null} */
  let session = null;

  /** @param {Promise<unknown>} promise */
  const tell = (promise) => promise.catch((error) => complain(error.message));

  /** @param {boolean} steering */
  function submit(steering) {
    const text = field.value.trim();
    if ((!text && files.count() === 0) || !session || form.classList.contains("closed")) return;
    const id = newId();
    const sent = files.take();
    const busy = state !== null && isAtWork(state);
    const now = !busy && !state?.held;
    const into = steering && busy && Boolean(state?.can?.steer);
    if (now || into) expect(id, text, sent.length);
    else queue.expect({ id, text, files: sent.length });
    const of = session;
    const what = { order: "prompt", text, ...(sent.length ? { files: sent } : {}), ...(into ? { steer: true } : {}) };
    order(what, id).catch((error) => fail(id, of, text, error.message));
    field.value = "";
    remember();
    grow();
    onSent();
  }

  /**
   * The prompt as it will stand, until its entry comes under the same id.
   * @param {string} id
   * @param {string} text
   * @param {number} count
   */
  function expect(id, text, count) {
    if (expected(id)) return;
    pending.append(make("article", { class: "entry user opens expected", "data-my-expected": id },
      make("header", { class: "role" }, make("span", { class: "who" }, icon("user"), "User"), make("small", { class: "sending" }, "sending…")),
      make("div", { class: "words" }, text),
      count > 0 && make("div", { class: "attachment" }, icon("file"), `${count} attached`)));
    onPending();
  }

  /** @param {string} id */
  const expected = (id) => pending.querySelector(`[data-my-expected="${CSS.escape(id)}"]`);

  /**
   * Which prompts stand in the conversation already and which wait as chips. The one for which the agent is being started
   * stands there; a prompt of which the house knows and that neither waits nor is worked on was taken back.
   * @param {State} next
   */
  function arrange(next) {
    const waiting = next.queue ?? [];
    const [first, ...rest] = waiting;
    const starting = isStarting(next) && !first.from;
    if (starting) expect(first.id, first.text, first.files ?? 0);
    for (const one of [...pending.children]) {
      const id = one.getAttribute("data-my-expected") ?? "";
      const waits = waiting.some((prompt) => prompt.id === id);
      const known = one.hasAttribute("data-my-known");
      if (waits) one.setAttribute("data-my-known", "");
      if (waits ? !(starting && id === first.id) : known && !isBusy(next.phase?.phase)) settle(id);
    }
    queue.show(starting ? rest : waiting, Boolean(next.held), mayWrite() && isOpen(next));
  }

  /**
   * @param {string} id
   * @param {string} of
   * @param {string} text
   * @param {string} message
   */
  function fail(id, of, text, message) {
    complain(`the message was not sent: ${message}`);
    settle(id);
    if (session === of && state) arrange(state);
    if (session === of && field.value === "") {
      field.value = text;
      remember();
      grow();
    }
  }

  function remember() {
    if (session) rememberBySession("drafts", session, field.value);
  }

  function grow() {
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight + 2, innerHeight * 0.4)}px`;
    const empty = field.value.trim() === "" && files.count() === 0;
    send.disabled = empty;
    form.classList.toggle("blank", empty);
  }

  function interrupt() {
    if (!state?.can?.interrupt || !isAtWork(state)) return false;
    stop.disabled = true;
    order({ order: "interrupt" }).catch((error) => complain(error.message)).finally(() => { stop.disabled = false; });
    return true;
  }

  field.addEventListener("input", () => { grow(); remember(); });
  field.addEventListener("keydown", (event) => {
    const means = keyMeans(event, { touch: matchMedia("(pointer: coarse)").matches });
    if (means === "none") return;
    event.preventDefault();
    submit(means === "steer");
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); submit(false); });
  steer.addEventListener("click", () => submit(true));
  stop.addEventListener("click", interrupt);
  model.addEventListener("change", () => { tell(order({ order: "set", model: model.value })); });
  mode.addEventListener("change", () => { tell(order({ order: "set", mode: mode.value })); });
  byId("attach", HTMLButtonElement).addEventListener("click", () => picker.click());
  picker.addEventListener("change", async () => { await files.add(picker.files ?? []); picker.value = ""; grow(); field.focus(); });
  field.addEventListener("paste", async (event) => {
    const pasted = [...event.clipboardData?.files ?? []];
    if (pasted.length === 0) return;
    event.preventDefault();
    await files.add(pasted);
    grow();
  });
  const over = byId("main", HTMLElement);
  over.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    form.classList.add("over");
  });
  over.addEventListener("dragleave", () => form.classList.remove("over"));
  over.addEventListener("drop", async (event) => {
    form.classList.remove("over");
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    await files.add(event.dataTransfer.files);
    grow();
  });

  /** @param {State} next */
  function show(next) {
    state = next;
    const can = next.can ?? {};
    const label = agent(next.agent ?? "")?.label ?? next.agent ?? "the agent";
    const open = mayWrite() && isOpen(next);
    const busy = isAtWork(next);
    form.classList.toggle("closed", !open);
    form.classList.toggle("busy", busy);
    field.disabled = !open;
    field.placeholder = !open ? "This session can only be read" : busy ? `Message ${label} when it is done…` : `Message ${label}…`;
    stop.hidden = !(busy && can.interrupt && mayWrite());
    steer.hidden = !(busy && can.steer && open);
    send.textContent = busy ? "Queue" : "Send";
    note.textContent = remark(next, open, label);
    note.hidden = note.textContent === "";
    arrange(next);
    who.textContent = label;
    settings(next, open && next.source === "live");
  }

  /** @param {State} next */
  const isAtWork = (next) => isBusy(next.phase?.phase) || isStarting(next);

  /** @param {State} next */
  const isOpen = (next) => Boolean(next.can?.prompt || next.can?.adopt);

  /**
   * @param {State} next
   * @param {boolean} open
   * @param {string} label
   */
  function remark(next, open, label) {
    if (next.trouble) return `Parlor cannot write its log, and what the agent says waits: ${next.trouble}`;
    if (next.reading) return "This is the end of a long session; the rest is being read.";
    if (next.writer) return `${next.writer} is writing this session right now; what you send may cross with it.`;
    if (!mayWrite()) return "Your link is for reading only.";
    if (!open) return `Parlor cannot go on with this session here: ${agent(next.agent ?? "")?.problem ?? `${label} is not installed`}.`;
    return next.can?.adopt ? `Found on disk. A message goes on with it in ${label}.` : "";
  }

  /**
   * @param {State} next
   * @param {boolean} open
   */
  function settings(next, open) {
    const models = agent(next.agent ?? "")?.models ?? [];
    const names = [...new Set([next.model ?? "", ...models])].filter(Boolean);
    // A list that someone has open is not filled anew.
    if (model.dataset.names !== names.join("\n")) {
      model.dataset.names = names.join("\n");
      fill(model, ...names.map((name) => make("option", { value: name }, name)));
    }
    if (mode.options.length === 0) fill(mode, ...MODES.map(([value, words, title]) => make("option", { value, title }, words)));
    model.value = next.model ?? "";
    model.hidden = names.length === 0;
    model.disabled = !open || names.length < 2;
    mode.value = next.mode ?? "ask";
    mode.hidden = !next.mode;
    mode.disabled = !open;
  }

  /**
   * The house shows this prompt itself now, or nobody does.
   * @param {string} id
   */
  function settle(id) {
    const one = expected(id);
    one?.remove();
    if (one) onPending();
  }

  return {
    show,
    settle,
    interrupt,
    submit: () => submit(false),
    focus: () => field.focus(),
    isSending: () => pending.childElementCount > 0,
    /** @param {string | null} id */
    open(id) {
      session = id;
      state = null;
      pending.replaceChildren();
      field.value = id ? /** @type {Record<string, string>} */ (recall("drafts", {}))[id] ?? "" : "";
      note.hidden = true;
      queue.show([], false, false);
      grow();
    },
    /** Puts words into the field. @param {string} text */
    write(text) {
      field.value = text;
      remember();
      grow();
      field.focus();
    },
  };
}
