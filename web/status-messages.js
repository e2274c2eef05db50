// @ts-check
// Which message the status bubble shows. Pure: chance and clock are handed in.

import { POOL } from "./status-pool.js";

/** @typedef {"common" | "uncommon" | "rare" | "legendary"} Tier */
/** @typedef {Partial<Record<Tier, string[]>>} Tiers */

/** How often each tier comes up. The tier is picked first, so that the size of a pool does not change the odds.
 * @type {[Tier, number][]} */
export const ODDS = [["common", 0.6], ["uncommon", 0.25], ["rare", 0.12], ["legendary", 0.03]];

/**
 * The tier for a number from 0 to 1.
 * @param {number} chance
 * @returns {Tier}
 */
export function tierOf(chance) {
  let sum = 0;
  for (const [tier, share] of ODDS) {
    sum += share;
    if (chance < sum) return tier;
  }
  return "common";
}

/**
 * Numbers from 0 to 1 that look random and are the same for the same words: whoever looks sees the same message, also
 * after a reload.
 * @param {string} words
 * @returns {() => number}
 */
export function chanceOf(words) {
  let state = 0x811c9dc5;
  for (const letter of words) state = Math.imul(state ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * The message of the n-th stretch of a phase.
 * @param {string} kind
 * @param {{phase: string, turn: number, now: Date}} when `phase` names the phase among all others.
 */
export function messageAt(kind, { phase, turn, now }) {
  const at = (/** @type {number} */ number, /** @type {string} */ not) => pickMessage(kind, { random: chanceOf(`${phase} ${number}`), now, not });
  return at(turn, turn > 0 ? at(turn - 1, "")?.text ?? "" : "");
}

/**
 * What the hour and the day add: `morning`, `afternoon`, `evening`, `night`, and `weekend`.
 * @param {Date} now
 * @returns {string[]}
 */
export function timesOf(now) {
  const hour = now.getHours();
  const time = hour >= 5 && hour < 12 ? "morning" : hour >= 12 && hour < 17 ? "afternoon" : hour >= 17 && hour < 22 ? "evening" : "night";
  return now.getDay() === 0 || now.getDay() === 6 ? [time, "weekend"] : [time];
}

/**
 * The season: `halloween`, `christmas`, `newYear`, `valentine`, or none.
 * @param {Date} now
 * @returns {string[]}
 */
export function seasonOf(now) {
  const day = (now.getMonth() + 1) * 100 + now.getDate();
  if (day >= 1024 && day <= 1031) return ["halloween"];
  if (day >= 1212 && day <= 1226) return ["christmas"];
  if (day >= 1230 || day <= 103) return ["newYear"];
  if (day >= 212 && day <= 214) return ["valentine"];
  return [];
}

/**
 * The messages that suit a kind of work now, by tier.
 * @param {string} kind
 * @param {Date} now
 * @param {Record<string, Tiers>} [pool]
 * @returns {Record<Tier, string[]>}
 */
export function suitable(kind, now, pool = POOL) {
  // Whoever is waited for is not told that work goes on.
  const more = kind === "waiting" ? [] : [...timesOf(now), ...seasonOf(now)];
  const names = [pool[kind] ? kind : "other", ...more];
  const of = (/** @type {Tier} */ tier) => names.flatMap((name) => pool[name]?.[tier] ?? []);
  return { common: of("common"), uncommon: of("uncommon"), rare: of("rare"), legendary: of("legendary") };
}

/**
 * A message: first its tier by the odds, then one of that tier. Where a tier is empty the next more common one is taken,
 * and where those are empty too, the next rarer one. Null when nothing suits.
 * @param {string} kind
 * @param {{random: () => number, now: Date, not?: string, pool?: Record<string, Tiers>}} how `not` is the message that
 * was shown last: it does not come twice in a row where there is another.
 * @returns {{text: string, tier: Tier} | null}
 */
export function pickMessage(kind, { random, now, not = "", pool = POOL }) {
  const messages = suitable(kind, now, pool);
  const tiers = ODDS.map(([tier]) => tier);
  const wanted = tiers.indexOf(tierOf(random()));
  const tier = [...tiers.slice(0, wanted + 1).reverse(), ...tiers.slice(wanted + 1)].find((one) => messages[one].length > 0);
  if (!tier) return null;
  const fresh = messages[tier].filter((text) => text !== not);
  const list = fresh.length > 0 ? fresh : messages[tier];
  return { text: list[Math.min(list.length - 1, Math.floor(random() * list.length))], tier };
}
