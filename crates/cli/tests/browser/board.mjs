// The board in a real browser: what a person does there, and what nobody can make it do.

import assert from "node:assert/strict";
import { Stage, barriers, browse, open } from "./stage.mjs";

const SETTINGS = `
[scheduler]
grace = "200ms"
backoff = "1ms"
[agents.actor]
kind = "script"
script = "actor.yaml"
[agents.asker]
kind = "script"
script = "asker.yaml"
[agents.late]
kind = "command"
command = ["sh", "late.sh"]
slots = 2
`;

const EVIL = `<img src=x onerror="alert('markup')"><script>alert('script')</script>`;

const FILES = {
  "actor.yaml": `
attempts:
  2: [{print: the second try}, {report: {outcome: done, notes: Shorter now.}}]
steps:
  - print: the first line
  - print: ${JSON.stringify(`\u001b[31m${EVIL}`)}
  - work: 2s
  - print: the last line
  - report: {outcome: done, notes: ${JSON.stringify(EVIL)}}
`,
  "asker.yaml": `
attempts:
  2: [{report: {outcome: done, notes: As you said.}}]
steps: [{report: {outcome: blocked, blockers: [MIT or Apache?]}}]
`,
  // The first run ends without a word, and the second one takes its time.
  "late.sh": `
echo "$ADJUTANT_RUN_TOKEN" > "token.$ADJUTANT_TASK_ID.$ADJUTANT_ATTEMPT"
[ "$ADJUTANT_ATTEMPT" = 1 ] && exit 1
sleep 600
`,
};

const stage = new Stage(SETTINGS, FILES);
try {
  const login = stage.up();
  await browse(async (browser) => {
    const page = await open(browser);
    await page.goto(login);
    await aWholeLife(page);
    await aQuestion(page);
    await aLateReport(page);
    await keys(page);
    await aStory(page);
    await withoutScript(browser, await page.context().storageState());
    await everyPage(browser, page);
    assert.deepEqual(page.wrong, []);
  });
} finally {
  stage.end();
}

// A task is made, watched as it runs, sent back and approved, and no page is asked for by hand.
async function aWholeLife(page) {
  await page.getByRole("link", { name: "New task" }).click();
  await page.getByLabel("What is to be done").fill(`Fix ${EVIL}`);
  await page.getByLabel("Everything else").fill(`# Hello\n\n${EVIL}\n\n[go](javascript:alert(1))`);
  await page.getByLabel("Agent").selectOption("actor");
  await page.getByRole("button", { name: "Add the task" }).click();
  await page.locator(".said").waitFor();
  await page.locator(".s-in-progress .card, .s-review .card").first().waitFor();
  await page.locator(".card a.title").first().click();
  const mark = await page.evaluate(() => (window.mark = Math.random()));
  await page.locator(".log", { hasText: "the first line" }).waitFor();
  await page.locator(".log", { hasText: "the last line" }).waitFor();
  await page.locator("h1 + .pill", { hasText: "review" }).waitFor();
  assert.equal(await page.evaluate(() => window.mark), mark, "the page was not asked for again");
  assert.equal(await page.locator(".prose a").first().getAttribute("href"), "#");
  await page.getByPlaceholder("What must change").fill("Shorter, please.");
  await page.getByRole("button", { name: "Reject" }).click();
  await page.locator(".said", { hasText: "Sent back." }).waitFor();
  await page.locator(".log", { hasText: "the second try" }).waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator("h1 + .pill", { hasText: "done" }).waitFor();
}

// A question comes up in an inbox that is open, is answered, and the work goes on.
async function aQuestion(page) {
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.getByText("Nothing waits for you.").waitFor();
  const id = stage.add("Ask", "--agent", "asker", "--status", "ready");
  await page.locator(".item", { hasText: "MIT or Apache?" }).waitFor();
  await page.getByPlaceholder("Your answer").fill("MIT");
  await page.getByRole("button", { name: "Answer" }).click();
  await page.locator(".item", { hasText: "As you said." }).waitFor();
  assert.equal(stage.status(id), "review");
}

// A report that came too late is let count from an inbox that is open.
async function aLateReport(page) {
  const id = await stage.lateReport("Report late");
  const item = page.locator(".item", { hasText: "Report late" });
  await item.getByRole("button", { name: "Let it count" }).click();
  await page.locator(".said", { hasText: "The report counts." }).waitFor();
  assert.equal(stage.status(id), "review");
  await item.getByRole("button", { name: "Approve" }).click();
  await page.locator(".said", { hasText: "Approved." }).waitFor();
  assert.equal(stage.status(id), "done");
}

async function keys(page) {
  await page.goto(new URL("/inbox", page.url()).href);
  await page.keyboard.press("?");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.locator(".item.picked").waitFor();
  await page.keyboard.press("r");
  assert.equal(await page.evaluate(() => document.activeElement.placeholder), "What must change");
  await page.keyboard.press("Escape");
  await page.keyboard.press("a");
  await page.locator(".said", { hasText: "Approved." }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("Ask");
  await page.keyboard.press("Enter");
  await page.locator(".s-done .card", { hasText: "Ask" }).waitFor();
}

// A story is begun, comes to its review while its page is open, and is sent back.
async function aStory(page) {
  await page.goto(new URL("/stories", page.url()).href);
  await page.getByLabel("The story").fill("US-001");
  await page.getByRole("button", { name: "Begin" }).click();
  await page.locator(".said", { hasText: "The story has begun." }).waitFor();
  await page.getByLabel("Which step").selectOption("review");
  await page.getByRole("button", { name: "Put it back" }).click();
  await page.locator(".said", { hasText: "The story was put back." }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Reject" }).count(), 0);
  stage.run("story", "next");
  await page.getByLabel("Why not").selectOption("scope_warning");
  await page.getByRole("button", { name: "Reject" }).click();
  await page.locator(".said", { hasText: "Sent back." }).waitFor();
  assert.notEqual(stage.json("story", "status").step, "review");
}

async function withoutScript(browser, storageState) {
  const page = await open(browser, { javaScriptEnabled: false, storageState });
  const [address] = storageState.cookies;
  const origin = stage.json("status").url;
  assert.ok(address, "a browser that signed in has a cookie");
  await page.goto(`${origin}/tasks/new`);
  await page.getByLabel("What is to be done").fill("Without script");
  await page.getByLabel("Begins").selectOption("backlog");
  await page.getByRole("button", { name: "Add the task" }).click();
  await page.locator(".s-backlog .card a.title", { hasText: "Without script" }).click();
  await page.getByRole("button", { name: "Move to ready" }).click();
  await page.locator(".said", { hasText: "It is ready." }).waitFor();
  await page.getByRole("button", { name: "Cancel task" }).click();
  await page.locator("h1 + .pill", { hasText: "cancelled" }).waitFor();
  const id = stage.add("Look at it");
  for (const to of ["ready", "in-progress", "review"]) stage.run("task", "move", id, to);
  await page.goto(`${origin}/inbox`);
  await page.getByRole("button", { name: "Approve" }).first().click();
  await page.locator(".said", { hasText: "Approved." }).waitFor();
  assert.equal(stage.status(id), "done");
  const late = await stage.lateReport("Late without script");
  await page.goto(`${origin}/inbox`);
  const item = page.locator(".item", { hasText: "Late without script" });
  await item.getByRole("button", { name: "Let it count" }).click();
  await page.locator(".said", { hasText: "The report counts." }).waitFor();
  assert.equal(stage.status(late), "review");
  await page.goto(`${origin}/stories`);
  await page.getByLabel("The story").fill("US-002");
  await page.getByRole("button", { name: "Begin" }).click();
  await page.locator(".said", { hasText: "The story has begun." }).waitFor();
  const story = page.locator("article", { hasText: "US-002" });
  await story.getByRole("button", { name: "Let agents do it" }).click();
  await page.locator(".said", { hasText: "Agents do its steps." }).waitFor();
  await story.getByRole("button", { name: "Stop agents" }).click();
  await page.locator(".said", { hasText: "Its steps are started by hand." }).waitFor();
  assert.deepEqual(page.wrong, []);
  await page.context().close();
}

// Nobody is kept out of a page, on a screen or on a phone, by light or by dark.
async function everyPage(browser, page) {
  const [{ id }] = stage.json("task", "list");
  const origin = new URL(page.url()).origin;
  const found = [];
  for (const path of ["/", "/inbox", "/stories", "/agents", "/record", "/figures", "/tasks/new", `/tasks/${id}`]) {
    await page.goto(origin + path);
    found.push(...(await barriers(browser, page)));
    await page.setViewportSize({ width: 390, height: 844 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    if (wide) found.push(`${path} is wider than a phone`);
    await page.setViewportSize({ width: 1280, height: 800 });
  }
  assert.deepEqual(found, []);
}
