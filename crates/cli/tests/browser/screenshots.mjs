// Takes screenshots of every page with agents at work: wide and narrow, light and dark.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Stage, browse, open } from "./stage.mjs";

const SETTINGS = `
[scheduler]
concurrency = 4
backoff = "15m"
[agents.claude]
kind = "script"
script = "crew.yaml"
mode = "code"
slots = 2
[agents.codex]
kind = "script"
script = "crew.yaml"
slots = 2
`;

const today = new Date().toISOString().slice(0, 10);
const task = (number) => `TASK-${today}-${String(number).padStart(3, "0")}`;

const CREW = `
tasks:
  ${task(2)}: {steps: [{report: {outcome: blocked, blockers: ["Apache-2.0 or MIT? The README says both."]}}]}
  ${task(3)}:
    steps:
      - print: reading crates/import/src/date.rs
      - print: cargo test -p import
      - print: running 41 tests
      - print: "test date::offset_of_zero ... FAILED"
      - progress: The cause is found, one test is left.
      - work: 1h
  ${task(5)}: {steps: [{print: "error[E0308]: mismatched types"}, {exit: 1}]}
  ${task(6)}: {steps: [{print: splitting}, {work: 1h}]}
steps:
  - work: 1s
  - report: {outcome: done, notes: "12 files changed, all 214 tests pass."}
`;

const TASKS = [
  ["Refuse names with control characters", "high", "claude"],
  ["Choose a licence header", "normal", "claude"],
  ["Parse dates with an offset of +00:00 in the import", "critical", "claude"],
  ["Speed up the index", "low", "codex"],
  ["Upgrade the parser", "high", "codex"],
  ["Split the importer into reader and checker", "normal", "codex"],
  ["Document the export format", "normal", "writer"],
];

const BODY = `The import refuses \`2026-11-16T00:00:00+00:00\`, which is what the ledger's exporter writes.

- take an offset of zero for what it is
- keep refusing every other offset, **with the offset in the message**
`;

const folder = process.argv[4];
const stage = new Stage(SETTINGS, { "crew.yaml": CREW });
try {
  for (const [title, priority, agent] of TASKS) {
    stage.add(title, "--priority", priority, "--agent", agent, "--status", "ready", "--body", BODY);
  }
  for (const title of ["Set up continuous integration", "Rename the crate"]) {
    const id = stage.add(title);
    for (const to of ["ready", "in-progress", "review"]) stage.run("task", "move", id, to);
    stage.run("approve", id);
  }
  stage.add("Look into the slow start");
  stage.run("story", "init");
  for (const [story, step] of [["US-004", "review"], ["US-005", "impl"], ["US-006", "contract"]]) {
    stage.run("story", "start", story);
    stage.run("story", "rollback", step, "--story", story);
    if (step !== "contract") stage.run("story", "next", "--story", story);
  }
  const login = stage.up();
  while (stage.json("inbox").length < 4) await new Promise((go) => setTimeout(go, 200));
  await browse((browser) => takeAll(browser, login));
} finally {
  stage.end();
}

async function takeAll(browser, login) {
  const page = await open(browser);
  await page.goto(login);
  const origin = new URL(login).origin;
  await page.waitForURL(`${origin}/`);
  const pages = {
    board: "/",
    task: `/tasks/${task(3)}`,
    inbox: "/inbox",
    stories: "/stories",
    agents: "/agents",
    record: "/record",
    figures: "/figures",
  };
  const sizes = { desktop: [1400, 860], phone: [390, 844] };
  mkdirSync(folder, { recursive: true });
  for (const [size, [width, height]] of Object.entries(sizes)) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      for (const [name, path] of Object.entries(pages)) {
        await page.goto(origin + path);
        await page.locator("#live[data-live=on]").waitFor();
        await page.screenshot({ path: join(folder, `${name}-${size}-${colorScheme}.png`) });
      }
    }
  }
}
