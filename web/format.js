// @ts-check
// Numbers, times and paths as people read them. Pure: the clock is handed in.

/**
 * A time in milliseconds, of an ISO time or a number of seconds or milliseconds; `NaN` when there is none.
 * @param {string | number | null | undefined} at
 */
export function millis(at) {
  if (typeof at === "number") return at < 1e11 ? at * 1000 : at > 1e14 ? at / 1000 : at;
  return at ? Date.parse(at) : NaN;
}

/**
 * How long ago, as short as it goes: `now`, `5m`, `2h`, `yesterday`, `Fri`, `3 Nov`, `2025`.
 * @param {string | number | null | undefined} at
 * @param {Date} now
 */
export function age(at, now) {
  const then = millis(at);
  if (Number.isNaN(then)) return "";
  const seconds = Math.max(0, (now.getTime() - then) / 1000);
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`;
  const date = new Date(then);
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const days = Math.ceil((midnight - then) / 86_400_000);
  if (days <= 1) return "yesterday";
  if (days < 7) return date.toLocaleDateString("en", { weekday: "short" });
  if (date.getFullYear() === now.getFullYear()) return `${date.getDate()} ${date.toLocaleDateString("en", { month: "short" })}`;
  return String(date.getFullYear());
}

/**
 * A span of time that is going on: `4 s`, `1 min 20 s`, `2 h 5 min`.
 * @param {number} ms
 */
export function elapsed(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/**
 * Tokens: `940`, `2.0k`, `148k`, `1.2M`, `1.1B`.
 * @param {number} count
 */
export function tokens(count) {
  if (count < 1000) return String(count);
  if (count < 10_000) return `${(count / 1000).toFixed(1)}k`;
  if (count < 999_500) return `${Math.round(count / 1000)}k`;
  if (count < 999_950_000) return `${(count / 1e6).toFixed(1)}M`;
  return `${(count / 1e9).toFixed(1)}B`;
}

/**
 * Money: `$0.21`, `< $0.01`.
 * @param {number | null | undefined} usd
 */
export function money(usd) {
  if (typeof usd !== "number" || !Number.isFinite(usd) || usd <= 0) return "";
  return usd < 0.01 ? "< $0.01" : `$${usd.toFixed(2)}`;
}

/**
 * A path with the home folder as `~`.
 * @param {string | null | undefined} path
 * @param {string} home
 */
export function tilde(path, home) {
  if (!path) return "";
  if (home && (path === home || path.startsWith(`${home}/`))) return `~${path.slice(home.length)}`;
  return path;
}

/**
 * `1 tool call`, `2 tool calls`.
 * @param {number} count
 * @param {string} noun
 */
export function plural(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * The first of a text, on one line.
 * @param {string} text
 * @param {number} most
 */
export function oneLine(text, most) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1).trimEnd()}…` : line;
}

/**
 * A path by its last folders, as many as fit: `…/worktrees/fixes`. The last one is always whole.
 * @param {string} path
 * @param {number} most
 */
export function shortPath(path, most) {
  if (path.length <= most) return path;
  const separator = path.includes("/") ? "/" : "\\";
  const parts = path.split(separator).filter(Boolean);
  let kept = parts.pop() ?? path;
  while (parts.length > 0 && kept.length + (parts.at(-1) ?? "").length + 3 <= most) kept = `${parts.pop()}${separator}${kept}`;
  return `…${separator}${kept}`;
}

/**
 * The size of a file.
 * @param {number} bytes
 */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${Math.round(bytes / 1000)} KB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
