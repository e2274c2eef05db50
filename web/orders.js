// @ts-check
// Orders to a session. The house carries out each id once, so that an order can be sent again after a reconnect.

/** A name for an order. Browsers give UUIDs only to pages that came over TLS or from this machine. */
export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * @param {import("./socket.js").Socket} socket
 * @param {() => string | null} current The session that is open.
 */
export function createOrders(socket, current) {
  /**
   * @param {Record<string, unknown>} what
   * @param {string} [id]
   * @param {string | null} [session]
   */
  return (what, id = newId(), session = current()) =>
    socket.request({ type: "order", session, order: { id, ...what } }, { again: true });
}

/** @typedef {ReturnType<typeof createOrders>} Order */
