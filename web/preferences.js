// @ts-check
// The few things a browser remembers between visits. Where storage is forbidden it remembers nothing and says nothing.

const PREFIX = "parlor.";
/** What is remembered by session is bounded: the oldest go first. */
const MOST_SESSIONS = 300;

/**
 * @template T
 * @param {string} name
 * @param {T} otherwise
 * @returns {T}
 */
export function recall(name, otherwise) {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

/**
 * @param {string} name
 * @param {unknown} value `undefined` forgets it.
 */
export function remember(name, value) {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // A full or forbidden storage costs comfort, not function.
  }
}

/**
 * Remembers a value by session.
 * @param {string} name
 * @param {string} session
 * @param {unknown} value
 * @returns {unknown[]} What had to be forgotten for it.
 */
export function rememberBySession(name, session, value) {
  /** @type {Record<string, unknown>} */
  const all = recall(name, {});
  delete all[session];
  if (value !== undefined && value !== "") all[session] = value;
  const ids = Object.keys(all);
  const old = ids.slice(0, Math.max(0, ids.length - MOST_SESSIONS));
  const forgotten = old.map((id) => all[id]);
  for (const id of old) delete all[id];
  remember(name, all);
  return forgotten;
}

/** Lays the looks that were chosen over the page. */
export function applyLooks() {
  const root = document.documentElement;
  root.dataset.theme = recall("theme", "auto");
  root.dataset.thoughts = recall("thoughts", "show");
}
