// @ts-check
// The session that is open: its subscription, its window of entries, its state. It must not know how anything looks.

import { askJson, entryPath } from "./api.js";
import { millis } from "./format.js";
import { createEntries } from "./patch.js";

/** @typedef {import("./types.js").Frame} Frame */
/** @typedef {import("./types.js").State} State */
/** @typedef {import("./socket.js").Socket} Socket */
/** @typedef {import("./scroll.js").Scroll} Scroll */

const WINDOW = 200;
/** More entries than this are not kept in the page; what is far away can be asked for again. */
const MOST_ENTRIES = 700;
const KEEP_ENTRIES = 500;

/**
 * @param {object} wiring
 * @param {Socket} wiring.socket
 * @param {HTMLElement} wiring.talk
 * @param {() => Scroll} wiring.scroll
 * @param {(state: State, live: boolean) => void} wiring.onState `live` is false for the first state after opening.
 * @param {(elements: HTMLElement[], kind: "window" | "live", added: boolean) => void} wiring.onEntries
 * @param {(what: "opening" | "open" | "failed", message?: string) => void} wiring.onOpen
 */
export function createConversation({ socket, talk, scroll, onState, onEntries, onOpen }) {
  const entries = createEntries(talk);
  /** @type {string | null} */
  let session = null;
  /** @type {State | null} */
  let state = null;
  /** @type {number | null} */
  let sub = null;
  let epoch = "";
  let seq = 0;
  let total = 0;
  /** True when what is shown is the end of a session, and waits for its places in the whole. */
  let moving = false;
  /** @type {Promise<boolean> | null} */
  let loading = null;
  /** Counts openings, so that an answer for a session that was left is thrown away. */
  let opening = 0;

  /**
   * @param {string | null} id
   * @param {string | null} [entry]
   */
  async function open(id, entry = null) {
    if (id === session) {
      if (entry) await jump(entry);
      return;
    }
    if (sub !== null) socket.send({ type: "unsubscribe", sub });
    session = id;
    state = null;
    sub = null;
    epoch = "";
    total = 0;
    moving = false;
    entries.clear();
    if (!id) return;
    onOpen("opening");
    scroll().toEnd();
    await subscribe();
    if (entry && session === id) await jump(entry);
  }

  async function subscribe() {
    const mine = ++opening;
    const id = session;
    if (!id) return;
    const have = epoch ? { epoch, after: seq, first: entries.range.first } : {};
    const clock = { offset_s: -60 * new Date().getTimezoneOffset() };
    try {
      const answer = await socket.request({ type: "subscribe", session: id, profile: "html", window: WINDOW, ...clock, ...have });
      if (mine !== opening) {
        socket.send({ type: "unsubscribe", sub: answer.sub });
        return;
      }
      sub = answer.sub ?? null;
      loading = null;
      if (answer.verdict !== "resumed") restart(answer);
      onOpen("open");
    } catch (error) {
      const problem = /** @type {import("./socket.js").RequestError} */ (error);
      if (mine === opening && problem.code !== "disconnected") onOpen("failed", problem.message);
    }
  }

  /**
   * Forgets what was shown: the house begins anew.
   * @param {Frame} subscribed
   */
  function restart(subscribed) {
    // What was shown of the end stays as it is, for someone may be reading it, until the whole gives it its places.
    moving = subscribed.why === "whole";
    if (!moving) entries.clear();
    total = 0;
    epoch = subscribed.epoch;
    seq = subscribed.seq ?? 0;
  }

  /** @param {Frame} frame */
  function onFrame(frame) {
    if (frame.sub === undefined || frame.sub !== sub) return;
    if (frame.type === "subscribed") {
      restart(frame);
    } else if (frame.type === "state") {
      const first = state === null;
      state = awake(/** @type {State} */ (frame.session), Date.now());
      scroll().steady(() => onState(/** @type {State} */ (state), !first));
    } else if (frame.type === "entries") {
      // Only entries say what we have; a state may be ahead of them.
      seq = frame.seq ?? seq;
      take(/** @type {import("./types.js").EntriesFrame} */ (/** @type {unknown} */ (frame)));
    }
  }

  /** @param {import("./types.js").EntriesFrame} frame */
  function take(frame) {
    const news = frame.total - total;
    total = frame.total;
    scroll().steady(() => {
      if (moving && !entries.move(frame.entries)) entries.clear();
      moving = false;
      if (frame.kind === "window" && isElsewhere(frame.entries)) entries.clear();
      const { added, changed } = entries.apply(frame.entries);
      onEntries(added, frame.kind, true);
      onEntries(changed, frame.kind, false);
      if (frame.kind === "live" && news > 0) scroll().tell(news);
      trim();
    });
    // A window may be too small to fill the screen; then nobody scrolls to ask for more.
    if (frame.kind === "window") requestAnimationFrame(() => scroll().look());
  }

  /**
   * True for a window that does not touch what is shown.
   * @param {import("./types.js").EntryFrame[]} window
   */
  function isElsewhere(window) {
    const places = window.map((entry) => entry.n);
    const { first, end } = entries.range;
    return places.length > 0 && end > first && (Math.max(...places) < first - 1 || Math.min(...places) > end);
  }

  function trim() {
    const { first, end } = entries.range;
    if (end - first <= MOST_ENTRIES) return;
    const visible = Number(scroll().firstVisible()?.getAttribute("data-my-n") ?? end);
    if (scroll().isFollowing() || visible - first > end - visible) entries.drop((n) => n < end - KEEP_ENTRIES);
    else entries.drop((n) => n >= first + KEEP_ENTRIES);
  }

  /**
   * Asks for entries; the frame itself is taken in by `onFrame`.
   * @param {Record<string, unknown>} what
   */
  async function load(what) {
    while (loading) await loading;
    if (sub === null) return false;
    const asking = socket.request({ type: "window", sub, ...what }).then((frame) => frame.entries.length > 0, () => false);
    loading = asking;
    const some = await asking;
    if (loading === asking) loading = null;
    return some;
  }

  const older = () => !loading && entries.range.first > 0 ? load({ before: entries.range.first, count: WINDOW }) : Promise.resolve(false);
  const newer = () => loading || atNewest() ? Promise.resolve(false) : load({ from: entries.range.end, count: WINDOW });
  const atNewest = () => entries.range.end >= total;

  async function toEnd() {
    if (!atNewest()) await load({ before: total, count: WINDOW });
    scroll().toEnd();
  }

  async function toStart() {
    if (entries.range.first > 0) await load({ from: 0, count: WINDOW });
    const first = talk.querySelector("[data-my-id]");
    if (first) scroll().toEntry(first);
  }

  /**
   * Shows one entry, wherever it is. Returns false when the session has no such entry.
   * @param {string} id
   */
  async function jump(id) {
    const element = await bring(id) ?? await bringHost(id);
    if (!element) return false;
    for (let up = element.parentElement; up && up !== talk; up = up.parentElement) {
      if (up instanceof HTMLDetailsElement) up.open = true;
    }
    element.tabIndex = -1;
    element.focus({ preventScroll: true });
    scroll().toEntry(element);
    return true;
  }

  /** @param {string} id */
  async function bring(id) {
    if (!find(id)) await load({ around: id, count: WINDOW });
    return find(id);
  }

  /**
   * What shows an entry that is not shown by itself: the first of its run, or the call it lies under.
   * @param {string} id
   */
  async function bringHost(id) {
    try {
      const entry = await askJson(entryPath(session ?? "", id));
      for (const host of [entry?.group, entry?.parent]) {
        const element = typeof host === "string" && host !== id ? await bring(host) : null;
        if (element) return element;
      }
    } catch {
      // There is no such entry.
    }
    return null;
  }

  /**
   * An entry of the conversation itself, or one that is shown within another.
   * @param {string} id
   */
  function find(id) {
    const own = entries.get(id);
    if (own) return own;
    const inner = document.getElementById(`e-${id}`);
    return inner && talk.contains(inner) ? inner : null;
  }

  return {
    open,
    onFrame,
    jump,
    toEnd,
    toStart,
    older,
    newer,
    atNewest,
    entries,
    /** After the connection came back. */
    resume: () => {
      sub = null;
      return subscribe();
    },
    id: () => session,
    state: () => state,
    hasEntries: () => total > 0 || entries.range.end > entries.range.first,
  };
}

/** @typedef {ReturnType<typeof createConversation>} Conversation */

/** A file that nobody is seen to write to, and that says no more for so long, was left in the middle of a turn. */
const ASLEEP_MS = 120_000;

/**
 * The state, without a turn that nobody carries on.
 * @param {State} state
 * @param {number} now
 * @returns {State}
 */
export function awake(state, now) {
  const asleep = state.source !== "live" && !state.writer && !(now - millis(state.since) <= ASLEEP_MS);
  return asleep ? { ...state, phase: { phase: "unknown" } } : state;
}
