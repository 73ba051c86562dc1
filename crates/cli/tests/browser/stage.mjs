// A project with a listening daemon and scripted agents, and a browser.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [program, modules] = process.argv.slice(2).map((path) => resolve(path));
const need = createRequire(join(modules, "index.js"));
const { chromium } = need("playwright-core");
const axe = readFileSync(need.resolve("axe-core/axe.min.js"), "utf8");

export const PATIENCE = 120_000;

// Keeps the browser from making network requests of its own.
const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export class Stage {
  constructor(settings, files = {}) {
    this.folder = mkdtempSync(join(tmpdir(), "board-"));
    this.home = join(this.folder, "importer");
    mkdirSync(this.home);
    this.run("init", ".");
    writeFileSync(join(this.home, ".adjutant/adjutant.toml"), settings);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.home, name), text);
  }

  // Starts the daemon, and returns its sign-in link.
  up() {
    return this.json("up", "--detach", "--listen", "127.0.0.1:0").login;
  }

  run(...args) {
    const env = { ...process.env, USER: "alice" };
    for (const name of Object.keys(env)) if (name.startsWith("ADJUTANT_")) delete env[name];
    env.ADJUTANT_TRUST = "accept";
    env.XDG_STATE_HOME = join(this.folder, "state");
    return execFileSync(program, args, { cwd: this.home, env, encoding: "utf8" });
  }

  json(...args) {
    return JSON.parse(this.run(...args, "--json"));
  }

  add(title, ...args) {
    return this.json("task", "add", title, ...args).id;
  }

  status(id) {
    return this.json("task", "show", id).status;
  }

  token() {
    return readFileSync(join(this.home, ".adjutant/operator-token"), "utf8").trim();
  }

  // Changes a task over HTTP, as the operator.
  async patch(path, fields) {
    this.url ??= this.json("status").url;
    const headers = { authorization: `Bearer ${this.token()}`, "content-type": "application/json" };
    const request = { method: "PATCH", headers, body: JSON.stringify(fields) };
    const answer = await fetch(this.url + path, request);
    assert.ok(answer.ok, `${answer.status}: ${await answer.text()}`);
  }

  // Creates a task whose first run reports while its second run works; returns the task id.
  async lateReport(title) {
    const id = this.add(title, "--agent", "late", "--status", "ready");
    const token = (attempt) => join(this.home, `token.${id}.${attempt}`);
    const until = Date.now() + PATIENCE;
    while (!existsSync(token(2))) {
      assert.ok(Date.now() < until, "the second run begins");
      await new Promise((go) => setTimeout(go, 50));
    }
    const env = {
      ...process.env,
      ADJUTANT_DATA: join(this.home, ".adjutant"),
      ADJUTANT_TASK_ID: id,
      ADJUTANT_AGENT: "late",
      ADJUTANT_ATTEMPT: "1",
      ADJUTANT_RUN_TOKEN: readFileSync(token(1), "utf8").trim(),
    };
    const words = ["report", "done", "--notes", "Late, and good."];
    const said = spawnSync(program, words, { cwd: this.home, env, encoding: "utf8" });
    assert.equal(said.status, 1, `it is too late: ${said.stdout}${said.stderr}`);
    return id;
  }

  end() {
    this.run("down", "--stop");
    rmSync(this.folder, { recursive: true });
  }
}

export async function browse(work) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: QUIET });
  try {
    await work(browser);
  } finally {
    await browser.close();
  }
}

// Serves HTTP on another port of this host.
export async function serve(handle) {
  const server = createServer(handle);
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { port: server.address().port, close: () => server.close() };
}

// Opens a page, and collects its errors in `page.wrong`.
export async function open(browser, options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.wrong = [];
  page.on("pageerror", (error) => page.wrong.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    page.wrong.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("console", (said) => {
    if (said.type() === "error") page.wrong.push(`console: ${said.text()}`);
  });
  return page;
}

// Returns the serious accessibility violations of a page.
export async function barriers(browser, page) {
  const state = await page.context().storageState();
  const context = await browser.newContext({ bypassCSP: true, storageState: state });
  const again = await context.newPage();
  const found = [];
  for (const colorScheme of ["light", "dark"]) {
    await again.emulateMedia({ colorScheme });
    await again.goto(page.url());
    await again.evaluate(axe);
    const { violations } = await again.evaluate(() => axe.run());
    for (const { impact, id, nodes } of violations) {
      if (impact === "serious" || impact === "critical") {
        found.push(`${page.url()} ${colorScheme}: ${id} at ${nodes[0].html}`);
      }
    }
  }
  await context.close();
  return found;
}
