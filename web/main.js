// @ts-check
// Wires the page together. It holds no logic of its own beyond who hears what.

import { createAnnouncer } from "./announce.js";
import { createAsks } from "./asks.js";
import { createComposer } from "./composer.js";
import { createConversation } from "./conversation.js";
import { closeDialogs } from "./dialog.js";
import { byId } from "./dom.js";
import { createDrawer } from "./drawer.js";
import { createEntryTools } from "./entry-tools.js";
import { createFind } from "./find.js";
import { createHeader } from "./header.js";
import { createHints } from "./hints.js";
import { createHistory } from "./history.js";
import { createKeys, showHelp } from "./keys.js";
import { enter, isKnown, refuse } from "./login.js";
import { createMenu } from "./menu.js";
import { banner, toast } from "./notices.js";
import { createOrders } from "./orders.js";
import { applyLooks } from "./preferences.js";
import { href, parseRoute } from "./route.js";
import { createScroll } from "./scroll.js";
import { createSearch } from "./search.js";
import { createSessions } from "./sessions.js";
import { createSocket } from "./socket.js";
import { createStart } from "./start.js";
import { createStatus } from "./status.js";
import { createTies } from "./ties.js";

/** @typedef {import("./types.js").Hello} Hello */
/** @typedef {import("./types.js").Frame} Frame */

applyLooks();

/** @type {Hello} */
let hello = { type: "hello", version: 0, server: "", house: "", access: "full", agents: [], home: "" };
const agent = (/** @type {string} */ name) => hello.agents.find((one) => one.name === name);
const label = (/** @type {string} */ name) => agent(name)?.label ?? name;
const home = () => hello.home;
const mayWrite = () => hello.access === "full";

const socket = createSocket({
  url: `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`,
  onFrame,
  onLink(link) {
    document.body.classList.toggle("offline", link !== "open");
    if (link === "open") banner("");
    else if (link === "waiting") banner(navigator.onLine ? "Parlor does not answer. Trying again…" : "This device is offline.", { words: "Try now", act: socket.retryNow });
  },
  async mayRetry() {
    const known = await isKnown();
    if (!known) refuse("This browser's access has ended.");
    return known;
  },
});

const conversation = createConversation({
  socket,
  talk: byId("talk", HTMLElement),
  scroll: () => scroll,
  onState(state, live) {
    header.show(state);
    ties.show(state);
    composer.show(state);
    showStatus();
    asks.show(state);
    announcer.state(state, live);
    hints.show();
  },
  onEntries(elements, kind, added) {
    // What stands at the end of the conversation is not shown at the end of what happens to be loaded of it.
    byId("tail", HTMLElement).hidden = !conversation.atNewest();
    for (const element of elements) {
      composer.settle(element.dataset.myId ?? "");
      tools.decorate(element);
      asks.decorate(element);
    }
    if (kind === "live") announcer.entries(elements, added);
    hints.show();
  },
  onOpen(what, message) {
    if (what === "failed") {
      toast(message ?? "the session cannot be opened");
      go(null);
    }
    hints.opening(what === "opening");
  },
});

const scroll = createScroll({
  scroller: byId("scroll", HTMLElement),
  content: byId("content", HTMLElement),
  pill: byId("pill", HTMLButtonElement),
  atNewest: conversation.atNewest,
  onTop: () => { conversation.older(); },
  onBottom: () => { conversation.newer(); },
  onPill: () => { conversation.toEnd(); },
});

const order = createOrders(socket, conversation.id);

/**
 * @param {string | null} id
 * @param {string | null} [entry]
 */
function go(id, entry = null) {
  const hash = href(id, entry);
  if (location.hash === hash) route();
  else location.hash = hash;
}

const header = createHeader({ label, home });
const status = createStatus({ element: byId("status", HTMLElement), talk: byId("talk", HTMLElement) });
const announcer = createAnnouncer({ open: go, label });
const asks = createAsks({ conversation, order, mayWrite });
const tools = createEntryTools({ conversation, talk: byId("talk", HTMLElement) });
const composer = createComposer({
  pending: byId("pending", HTMLElement), order, complain: toast, agent, mayWrite,
  onSent: () => { conversation.toEnd(); },
  onPending: () => { showStatus(); hints.show(); },
});
createHistory({
  field: byId("message", HTMLTextAreaElement), write: composer.write,
  said: () => [...document.querySelectorAll("#talk > .entry.user:not(:has(> .cut)) > .words")].map((words) => words.textContent ?? ""),
});
const sessions = createSessions({
  list: byId("list", HTMLElement), filter: byId("filter", HTMLInputElement), label, home,
  onChange(rows) {
    announcer.rows(rows);
    hints.show();
  },
});
const ties = createTies({ label, row: sessions.get });
const drawer = createDrawer();
const start = createStart({ socket, order, agents: () => hello.agents, home, open: go });
const search = createSearch({ open: go });
const find = createFind({ conversation, scroll });
const menu = createMenu({ conversation, order, mayWrite, announcer, help: showHelp, stopAll: () => socket.request({ type: "stop_all" }) });
const hints = createHints({ conversation, sessions, start, mayWrite, home, agents: () => hello.agents });
createKeys({ conversation, scroll, composer, sessions, search, find, menu, start, drawer, tools, asks, mayWrite, open: go });

/** @param {Frame} frame */
function onFrame(frame) {
  switch (frame.type) {
    case "hello":
      if (hello.server && hello.server !== frame.server) toast("Parlor was updated while this page was open", { words: "Reload", act: () => location.reload() });
      hello = /** @type {Hello} */ (/** @type {unknown} */ (frame));
      byId("new", HTMLButtonElement).hidden = !mayWrite();
      socket.request({ type: "list" }).catch(() => {});
      start.refresh();
      if (conversation.id()) conversation.resume();
      else route();
      break;
    case "agents":
      hello.agents = frame.agents ?? [];
      sessions.draw();
      start.refresh();
      redraw();
      break;
    case "list":
      sessions.replace(frame.sessions ?? [], frame.complete !== false);
      break;
    case "rows":
      sessions.update(frame.rows ?? [], frame.gone ?? [], frame.complete !== false);
      break;
    default:
      conversation.onFrame(frame);
  }
}

/** A prompt that is on its way counts as work before the house says so. */
function showStatus() {
  status.show(conversation.state(), composer.isSending());
}

/** Who the agents are is known only now: what names them is shown anew. */
function redraw() {
  const state = conversation.state();
  if (state) {
    header.show(state);
    ties.show(state);
    composer.show(state);
  }
  hints.show();
}

function route() {
  const { session, entry } = parseRoute(location.hash);
  drawer.close();
  closeDialogs();
  if (session !== conversation.id()) {
    composer.open(session);
    asks.clear();
    find.close();
    announcer.opened();
    ties.show(null);
    header.plain(session ? sessions.get(session)?.title ?? "" : "Parlor");
  }
  sessions.select(session);
  conversation.open(session, entry).then(() => {
    if (session && entry && !conversation.entries.get(entry) && !document.getElementById(`e-${entry}`)) toast("this entry is not in the session");
  });
  showStatus();
  hints.show();
}

byId("new", HTMLButtonElement).addEventListener("click", () => start.open());
byId("skip", HTMLAnchorElement).addEventListener("click", (event) => { event.preventDefault(); composer.focus(); });
addEventListener("hashchange", async () => {
  if (location.hash.includes("code=")) await enter();
  route();
});

if (await enter()) {
  document.body.classList.remove("loading");
  socket.open();
}
