// @ts-check
// Which sessions have news since this browser last showed them. It compares the house's own times, so that clocks that
// differ do not matter, and must not know the list.

import { millis } from "./format.js";
import { recall, remember, rememberBySession } from "./preferences.js";

/** @typedef {import("./types.js").Row} Row */

/** A row tells of a change a little after the conversation shows it: what comes so soon after was seen as well. */
const LAG_MS = 5000;

/** @param {() => number} clock */
export function createUnread(clock = Date.now) {
  /** What happened before the first visit is nobody's news. */
  let since = recall("since", 0);

  return {
    /** The first list that is seen: news is what comes after it. @param {Iterable<Row>} rows */
    begin(rows) {
      if (since > 0) return;
      since = Math.max(1, ...[...rows].map((row) => millis(row.updated) || 0));
      remember("since", since);
    },
    /** @param {Row} row */
    seen(row) {
      const updated = millis(row.updated) || 0;
      const until = Math.max(updated, Math.min(clock(), updated + LAG_MS));
      /** @type {Record<string, number>} */
      const known = recall("seen", {});
      if ((known[row.id] ?? 0) >= until) return;
      // Of a session that is forgotten, only what comes later than it was seen is news.
      const gone = rememberBySession("seen", row.id, until);
      const later = Math.max(since, ...gone.map(Number).filter(Number.isFinite));
      if (later > since) remember("since", since = later);
    },
    /** A question that can be asked of many rows. */
    asker() {
      /** @type {Record<string, number>} */
      const known = recall("seen", {});
      return (/** @type {Row} */ row) => since > 0 && millis(row.updated) > Math.max(known[row.id] ?? 0, since);
    },
  };
}
