// A real house in a home of its own, a line to it that can be cut, and a real browser that looks at it. What every suite
// needs, and nothing about what a suite proves.
//
// Waiting is always for a condition, with a deadline that a busy machine keeps.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
export const WORKSPACE = resolve(HERE, "../..");
const PROGRAM = process.env.PARLOR_BIN ?? join(WORKSPACE, "target/debug/parlor");
const TOOLS = process.env.PARLOR_TEST_BROWSER;
if (!TOOLS) throw new Error("PARLOR_TEST_BROWSER is not set: run tests/browser/run, or set it to what scripts/install-browser prints");
const require = createRequire(join(TOOLS, "node_modules/"));
const { chromium } = require("playwright-core");
export const AXE = join(TOOLS, "node_modules/axe-core/axe.min.js");

/** Nothing here takes this long; a machine may be busy. */
export const PATIENCE_MS = 60_000;

/** The clock of the browser is not the clock of the house: times are the reader's. */
const ZONE = "Asia/Kolkata";
export const OFFSET_S = 19_800;

/** What the page may complain about while its house is away. */
export const AWAY = /WebSocket|net::ERR_|Failed to load resource|Failed to fetch/;

/** Programs that agents of the tests need; no others are on the PATH, so that no agent of this machine is found. */
const PROGRAMS = ["bash", "sh", "env", "sed", "rm", "sleep", "kill"];

/**
 * Repeats a question until the answer is yes.
 * @template T
 * @param {string} what
 * @param {() => Promise<T> | T} holds
 * @returns {Promise<NonNullable<T>>}
 */
export async function until(what, holds) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await holds();
    if (answer) return /** @type {NonNullable<T>} */ (answer);
    if (Date.now() > end) assert.fail(`waited in vain for ${what}`);
    await new Promise((next) => setTimeout(next, 25));
  }
}

/** A temporary home, with the few programs that are on its PATH. */
export class Home {
  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder;
  }

  static async make() {
    const home = new Home(await mkdtemp(join(tmpdir(), "parlor-browser-")));
    await mkdir(home.path("bin"));
    await symlink(process.execPath, home.path("bin/node"));
    for (const name of PROGRAMS) {
      const path = ["/usr/bin", "/bin", "/usr/local/bin"].map((folder) => join(folder, name)).find(existsSync);
      if (path) await symlink(path, home.path(`bin/${name}`));
    }
    return home;
  }

  /** @param {string} name */
  path(name) {
    return join(this.folder, name);
  }

  /**
   * Writes a file, with its folders.
   * @param {string} name
   * @param {string | Uint8Array} content
   */
  async write(name, content) {
    await mkdir(dirname(this.path(name)), { recursive: true });
    await writeFile(this.path(name), content);
    return this.path(name);
  }

  async remove() {
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A house that runs, behind a line that keeps its address when the house is started again. */
export class House {
  /** @type {import("node:child_process").ChildProcess | null} */
  #child = null;
  #said = "";
  #port = 0;
  #link = "";
  /** @type {Set<net.Socket>} */
  #connections = new Set();
  #cut = false;
  #line = net.createServer((near) => this.#join(near));
  token = "";
  url = "";

  /**
   * @param {Home} home
   * @param {Record<string, string>} environment
   */
  constructor(home, environment) {
    this.home = home;
    this.environment = environment;
  }

  /**
   * @param {Home} home
   * @param {Record<string, string>} [environment]
   */
  static async open(home, environment = {}) {
    const house = new House(home, environment);
    house.#line.listen(0, "127.0.0.1");
    await once(house.#line, "listening");
    const { port } = /** @type {net.AddressInfo} */ (house.#line.address());
    house.url = `http://127.0.0.1:${port}`;
    await house.start();
    return house;
  }

  async start() {
    const environment = { HOME: this.home.folder, PATH: this.home.path("bin"), PARLOR_DEMO_SPEED: "30", ...this.environment };
    const child = spawn(PROGRAM, ["serve", "--json", "--port", "0"], { cwd: this.home.folder, env: environment, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    child.stderr?.on("data", (said) => { this.#said = (this.#said + said).slice(-20_000); });
    let line = "";
    child.stdout?.on("data", (said) => { line += said; });
    await until("the house to be ready", () => {
      assert.equal(child.exitCode, null, `the house did not start: ${this.#said}`);
      return line.includes("\n");
    });
    const ready = JSON.parse(line);
    this.#port = Number(new URL(ready.url).port);
    this.#link = ready.link;
    this.token = ready.token;
  }

  /** Ends the house without a word. */
  async kill() {
    await this.#end("SIGKILL");
  }

  /** Asks the house to close. */
  async close() {
    await this.#end("SIGTERM");
  }

  /** @param {NodeJS.Signals} signal */
  async #end(signal) {
    const child = this.#child;
    this.#child = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    const late = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    await gone;
    clearTimeout(late);
  }

  /** Everything that belongs to the house is gone afterwards. */
  async leave() {
    this.cut();
    this.#line.close();
    await this.close();
  }

  /** Cuts every connection and lets none through. */
  cut() {
    this.#cut = true;
    for (const connection of this.#connections) connection.destroy();
  }

  mend() {
    this.#cut = false;
  }

  /** @param {net.Socket} near */
  #join(near) {
    if (this.#cut) {
      near.destroy();
      return;
    }
    const far = net.connect(this.#port, "127.0.0.1");
    for (const [one, other] of [[near, far], [far, near]]) {
      this.#connections.add(one);
      one.setNoDelay(true);
      one.on("error", () => other.destroy());
      one.on("close", () => { this.#connections.delete(one); other.destroy(); });
    }
    near.pipe(far);
    far.pipe(near);
  }

  /** A link that lets one browser in. */
  async link() {
    const { url } = this.#link ? { url: this.#link } : await this.ask("/api/link", { method: "POST", body: "{}" });
    this.#link = "";
    return this.url + new URL(url).pathname + new URL(url).hash;
  }

  /**
   * Asks the house as a program does, past the line that can be cut.
   * @param {string} path
   * @param {RequestInit} [how]
   */
  async ask(path, how = {}) {
    const response = await fetch(`http://127.0.0.1:${this.#port}${path}`, { ...how, headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json", ...how.headers } });
    const text = await response.text();
    assert.ok(response.ok, `${path} was answered with ${response.status}: ${text}`);
    return response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text;
  }

  /** The sessions that the house knows. */
  async sessions() {
    return (await this.ask("/api/sessions")).sessions;
  }

  said() {
    return this.#said;
  }
}

/** A tab, with what was complained about in it. */
export class Tab {
  /** @type {string[]} */
  complaints = [];
  /** @type {string[]} */
  outside = [];
  /** @type {RegExp | null} */
  forgive = null;

  /**
   * @param {import("playwright-core").Page} page
   * @param {House} house
   */
  constructor(page, house) {
    this.page = page;
    this.house = house;
    page.setDefaultTimeout(PATIENCE_MS);
    page.on("console", (message) => { if (message.type() === "error") this.#complain(message.text()); });
    page.on("pageerror", (error) => this.#complain(String(error.stack ?? error)));
    page.on("dialog", (dialog) => { this.#complain(`a dialog: ${dialog.message()}`); dialog.dismiss().catch(() => {}); });
    page.on("request", (request) => {
      if (!/^(data|blob|about):/.test(request.url()) && new URL(request.url()).origin !== house.url) this.outside.push(request.url());
    });
  }

  /** @param {string} words */
  #complain(words) {
    if (!this.forgive?.test(words)) this.complaints.push(words);
  }

  /**
   * Waits until something holds in the page.
   * @param {string} what
   * @param {(argument: any) => unknown} holds
   * @param {unknown} [argument]
   */
  async until(what, holds, argument) {
    try {
      return await this.page.waitForFunction(holds, argument, { timeout: PATIENCE_MS, polling: 50 });
    } catch (error) {
      assert.fail(`waited in vain for ${what}: ${/** @type {Error} */ (error).message.split("\n")[0]}`);
    }
  }

  /** Opens a session by its address. @param {string} id */
  async open(id, entry = "") {
    const hash = `#/s/${encodeURIComponent(id)}${entry && `/e/${encodeURIComponent(entry)}`}`;
    await this.page.evaluate((to) => { location.hash = to; }, hash);
    await this.until("the session's title in the address", (to) => location.hash === to, hash);
  }

  async reload() {
    await this.page.reload();
    await this.ready();
  }

  /** The page has said hello. */
  async ready() {
    await this.until("the page to be connected", () => !document.body.classList.contains("loading") && !document.body.classList.contains("offline"));
  }

  /** @param {string} text */
  async send(text) {
    await this.page.fill("#message", text);
    await this.page.press("#message", "Enter");
  }

  /**
   * Searches every session, again and again: what was just written can be found a little later.
   * @param {string} words
   * @param {(hits: number) => boolean} enough
   */
  async search(words, enough) {
    await this.page.keyboard.press("/");
    const says = (/** @type {string} */ pattern) => this.until(`the search to say ${pattern}`, (words) => new RegExp(words).test(document.querySelector("dialog .soft")?.textContent ?? "-"), pattern);
    await until(`hits for "${words}"`, async () => {
      await this.page.fill("dialog input", "");
      // Its last answer is gone, so that the next one is new.
      await says("^$");
      await this.page.fill("dialog input", words);
      await says("found|hits");
      return enough(await this.count("#hits button", words));
    });
  }

  /** How many entries of the conversation hold these words. */
  count(selector, words = "") {
    return this.page.evaluate(([where, text]) => [...document.querySelectorAll(where)].filter((one) => one.textContent?.includes(text)).length, [selector, words]);
  }

  /** Waits for an entry with these words. */
  async sees(words, selector = "#talk > .entry") {
    await this.until(`"${words}" in ${selector}`, ([where, text]) => [...document.querySelectorAll(where)].some((one) => one.textContent?.includes(text)), [selector, words]);
  }

  /** Nothing was complained about, and nothing was asked for elsewhere. */
  isQuiet() {
    assert.deepEqual(this.complaints, [], "the page complained");
    assert.deepEqual(this.outside, [], "the page asked for something elsewhere");
  }
}

/**
 * A test with a home, a house and a browser of its own. Afterwards all tabs must have been quiet; when it fails, what
 * the tabs showed is kept as pictures.
 * @param {string} name
 * @param {{environment?: (home: Home) => Record<string, string> | Promise<Record<string, string>>}} how
 * @param {(stage: Stage) => Promise<void>} play
 */
export function scene(name, how, play) {
  test(name, { timeout: 400_000 }, async () => {
    const home = await Home.make();
    const stage = new Stage(home);
    try {
      stage.house = await House.open(home, await how.environment?.(home));
      await play(stage);
      for (const tab of stage.tabs) tab.isQuiet();
    } catch (error) {
      await stage.picture(name);
      console.error(`--- the house of "${name}" said:\n${stage.house?.said() ?? ""}`);
      throw error;
    } finally {
      for (const context of stage.contexts) await context.close().catch(() => {});
      await stage.house?.leave();
      await home.remove();
    }
  });
}

/** @type {Promise<import("playwright-core").Browser> | null} */
let browser = null;

/** One browser for a file of tests; every context in it is a new person. */
function theBrowser() {
  browser ??= chromium.launch({
    executablePath: join(/** @type {string} */ (TOOLS), "bin/chromium"),
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
  });
  return browser;
}

after(async () => { await (await browser)?.close(); });

export class Stage {
  /** @type {House} */
  house = /** @type {any} */ (null);
  /** @type {Tab[]} */
  tabs = [];
  /** @type {import("playwright-core").BrowserContext[]} */
  contexts = [];

  /** @param {Home} home */
  constructor(home) {
    this.home = home;
  }

  /**
   * A person who comes in by the one-time link.
   * @param {import("playwright-core").BrowserContextOptions} [options]
   */
  async visit(options = {}) {
    const tab = await this.stranger(options);
    await tab.page.goto(await this.house.link());
    await tab.ready();
    return tab;
  }

  /**
   * A person whom the house does not know.
   * @param {import("playwright-core").BrowserContextOptions} [options]
   */
  async stranger(options = {}) {
    const context = await (await theBrowser()).newContext({ viewport: { width: 1280, height: 800 }, timezoneId: ZONE, reducedMotion: "reduce", ...options });
    this.contexts.push(context);
    await context.exposeBinding("__violated", ({ page }, what) => {
      this.tabs.find((tab) => tab.page === page)?.complaints.push(`CSP: ${what}`);
    });
    await context.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) => {
        /** @type {any} */ (window).__violated(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
      });
    });
    return this.tab(context);
  }

  /** Another tab of the same person. @param {import("playwright-core").BrowserContext} context */
  async tab(context) {
    const tab = new Tab(await context.newPage(), this.house);
    this.tabs.push(tab);
    return tab;
  }

  /**
   * Another tab of the same person, on a session.
   * @param {Tab} tab
   * @param {string} [session]
   */
  async beside(tab, session) {
    const other = await this.tab(tab.page.context());
    await other.page.goto(`${this.house.url}/${session ? `#/s/${encodeURIComponent(session)}` : ""}`);
    await other.ready();
    return other;
  }

  /** @param {string} name */
  async picture(name) {
    const folder = process.env.PARLOR_PICTURES ?? join(tmpdir(), "parlor-browser-failures");
    await mkdir(folder, { recursive: true });
    for (const [index, tab] of this.tabs.entries()) {
      const path = join(folder, `${name.replace(/\W+/g, "-")}-${index}.png`);
      await tab.page.screenshot({ path, timeout: 10_000 }).then(() => console.error(`--- picture: ${path}`), () => {});
    }
  }
}

/** The environment in which the puppet is the house's Claude. */
export function puppet() {
  return { PARLOR_CLAUDE: join(HERE, "puppet.mjs") };
}
