// @ts-check
// One WebSocket that comes back by itself. It knows frames and their answers, and nothing of what they say.

/** @typedef {import("./types.js").Frame} Frame */
/** @typedef {"connecting" | "open" | "waiting"} Link */

const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 20_000;
const PING_EVERY_MS = 20_000;
const SILENCE_MS = 50_000;

/** An answer that says no, or a connection that went away before one came. */
export class RequestError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * How long to wait before the next try: doubled each time, with jitter so that many pages do not come back at once.
 * @param {number} attempt From 0.
 * @param {() => number} random
 */
export function backoff(attempt, random) {
  const whole = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempt, 16));
  return whole / 2 + (whole / 2) * random();
}

/**
 * @param {object} wiring
 * @param {string} wiring.url
 * @param {(frame: Frame) => void} wiring.onFrame Every frame, in order.
 * @param {(link: Link, waitMs: number) => void} wiring.onLink
 * @param {() => Promise<boolean>} wiring.mayRetry Asked after a connection that never said hello; false ends it.
 */
export function createSocket({ url, onFrame, onLink, mayRetry }) {
  /** @type {WebSocket | null} */
  let socket = null;
  /** @type {Map<number, {frame: Frame, again: boolean, resolve: (frame: Frame) => void, reject: (error: Error) => void}>} */
  const pending = new Map();
  let nextRef = 1;
  let attempt = 0;
  let greeted = false;
  let lastHeard = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  function open() {
    clearTimeout(timer);
    if (socket) return;
    onLink("connecting", 0);
    greeted = false;
    const opening = new WebSocket(url);
    socket = opening;
    lastHeard = Date.now();
    opening.addEventListener("message", (event) => {
      if (socket === opening) hear(String(event.data));
    });
    opening.addEventListener("close", () => {
      if (socket === opening) lost();
    });
  }

  /** @param {string} text */
  function hear(text) {
    lastHeard = Date.now();
    /** @type {Frame} */
    let frame;
    try {
      frame = JSON.parse(text);
    } catch {
      return;
    }
    // What was asked before the hello is sent again; what is asked because of it has gone out already.
    const again = frame.type === "hello" ? [...pending.values()] : [];
    if (frame.type === "hello") {
      greeted = true;
      attempt = 0;
      onLink("open", 0);
    }
    onFrame(frame);
    for (const request of again) write(request.frame);
    const waiting = frame.ref === undefined ? undefined : pending.get(frame.ref);
    if (!waiting || frame.ref === undefined) return;
    pending.delete(frame.ref);
    if (frame.type === "error") waiting.reject(new RequestError(frame.error?.code ?? "internal", frame.error?.message ?? "it failed"));
    else waiting.resolve(frame);
  }

  async function lost() {
    socket = null;
    for (const [ref, request] of pending) {
      if (request.again) continue;
      pending.delete(ref);
      request.reject(new RequestError("disconnected", "the connection was lost before an answer came"));
    }
    if (!greeted && !(await mayRetry())) return;
    const wait = backoff(attempt++, Math.random);
    onLink("waiting", wait);
    clearTimeout(timer);
    timer = setTimeout(open, wait);
  }

  /** @param {Frame} frame */
  function write(frame) {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
  }

  function retryNow() {
    if (!socket) open();
    else if (Date.now() - lastHeard > SILENCE_MS) socket.close();
  }

  setInterval(() => {
    if (socket?.readyState !== WebSocket.OPEN) return;
    if (Date.now() - lastHeard > SILENCE_MS) socket.close();
    else write({ type: "ping" });
  }, PING_EVERY_MS);
  addEventListener("online", retryNow);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && timer !== undefined) retryNow();
  });

  return {
    open,
    retryNow,
    send: write,
    /**
     * Sends a frame and waits for its answer. With `again`, it is sent again after a reconnect: for what may be said twice.
     * @param {Frame} frame
     * @param {{again?: boolean}} [how]
     * @returns {Promise<Frame>}
     */
    request(frame, { again = false } = {}) {
      const ref = nextRef++;
      const full = { ...frame, ref };
      return new Promise((resolve, reject) => {
        if (!again && !(greeted && socket?.readyState === WebSocket.OPEN)) {
          reject(new RequestError("disconnected", "there is no connection right now"));
          return;
        }
        pending.set(ref, { frame: full, again, resolve, reject });
        if (greeted) write(full);
      });
    },
  };
}

/** @typedef {ReturnType<typeof createSocket>} Socket */
