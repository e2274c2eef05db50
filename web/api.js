// @ts-check
// What is asked once, over HTTP. It must not know the socket.

import { RequestError } from "./socket.js";

/**
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<Response>}
 */
export async function ask(path, init) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...init });
  } catch {
    throw new RequestError("disconnected", "Parlor does not answer: is it still running?");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  const code = response.status === 401 ? "unauthorized" : body?.error?.code ?? "internal";
  throw new RequestError(code, body?.error?.message ?? `Parlor answered with ${response.status}`);
}

/**
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<any>}
 */
export async function askJson(path, init) {
  return (await ask(path, init)).json();
}

/**
 * The address of something of a session's.
 * @param {string} session
 * @param {string} rest
 */
export function sessionPath(session, rest) {
  return `/api/sessions/${encodeURIComponent(session)}${rest}`;
}

/**
 * @param {string} session
 * @param {string} entry
 * @param {string} [rest]
 */
export function entryPath(session, entry, rest = "") {
  return sessionPath(session, `/entries/${encodeURIComponent(entry)}${rest}`);
}
