// @ts-check
// What the address says: `#/s/SESSION/e/ENTRY`. Pure.

/**
 * @param {string} hash
 * @returns {{session: string | null, entry: string | null}}
 */
export function parseRoute(hash) {
  const [, kind, session, sub, entry] = hash.split("/");
  if (!hash.startsWith("#/") || kind !== "s" || !session) return { session: null, entry: null };
  return { session: decode(session), entry: sub === "e" && entry ? decode(entry) : null };
}

/**
 * @param {string | null} session
 * @param {string | null} [entry]
 */
export function href(session, entry = null) {
  if (!session) return "#/";
  return `#/s/${encodeURIComponent(session)}${entry ? `/e/${encodeURIComponent(entry)}` : ""}`;
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
