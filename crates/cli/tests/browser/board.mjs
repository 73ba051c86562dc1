// The board in a real browser: what a person does with it, and attacks that must fail.

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
  // The first run exits without a report, and the second run sleeps.
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
    await enterOpensEntry(page);
    await enterSubmitsNothing(browser, await page.context().storageState());
    await aStory(page);
    await withoutScript(browser, await page.context().storageState());
    await everyPage(browser, page);
    assert.deepEqual(page.wrong, []);
  });
} finally {
  stage.end();
}

// A task is created, watched while it runs, rejected and approved, without reloading a page.
async function aWholeLife(page) {
  await page.getByRole("link", { name: "New task" }).click();
  await page.getByLabel("Title").fill(`Fix ${EVIL}`);
  await page.getByLabel("Description").fill(`# Hello\n\n${EVIL}\n\n[go](javascript:alert(1))`);
  await page.getByLabel("Agent").selectOption("actor");
  await page.getByRole("button", { name: "Create task" }).click();
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
  await page.locator(".said", { hasText: "Rejected." }).waitFor();
  await page.locator(".log", { hasText: "the second try" }).waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator("h1 + .pill", { hasText: "done" }).waitFor();
}

// A question appears in an open inbox and is answered, and the task continues.
async function aQuestion(page) {
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.getByText("The inbox is empty.").waitFor();
  const id = stage.add("Ask", "--agent", "asker", "--status", "ready");
  await page.locator(".item", { hasText: "MIT or Apache?" }).waitFor();
  await page.getByPlaceholder("Your answer").fill("MIT");
  await page.getByRole("button", { name: "Answer" }).click();
  await page.locator(".item", { hasText: "As you said." }).waitFor();
  assert.equal(stage.status(id), "review");
}

// A late report is applied from an open inbox.
async function aLateReport(page) {
  const id = await stage.lateReport("Report late");
  const item = page.locator(".item", { hasText: "Report late" });
  await item.getByRole("button", { name: "Apply report" }).click();
  await page.locator(".said", { hasText: "Report applied." }).waitFor();
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

// Creates tasks that wait for a review, and returns their ids.
function inReview(...titles) {
  return titles.map((title) => {
    const id = stage.add(title);
    for (const to of ["ready", "in-progress", "review"]) stage.run("task", "move", id, to);
    return id;
  });
}

// In the inbox, Enter opens the highlighted entry, even if its checkbox has the focus, and decides
// nothing. A click on Approve decides on every selected task.
async function enterOpensEntry(page) {
  const inbox = new URL("/inbox", page.url()).href;
  const [first, second] = inReview("Select", "Open");
  await page.goto(inbox);
  await page.locator(".item", { hasText: second }).waitFor();
  for (const key of ["j", "Space", "j"]) await page.keyboard.press(key);
  assert.ok(await page.locator(".item", { hasText: first }).getByRole("checkbox").isChecked());
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/tasks/${second}`);
  assert.deepEqual([stage.status(first), stage.status(second)], ["review", "review"]);
  await page.goto(inbox);
  for (const id of [first, second]) {
    await page.locator(".item", { hasText: id }).getByRole("checkbox").check();
  }
  await page.locator("#chosen").getByRole("button", { name: "Approve" }).click();
  await page.locator(".said", { hasText: "Approved." }).waitFor();
  assert.deepEqual([stage.status(first), stage.status(second)], ["done", "done"]);
}

// Without the script, Enter in the form for selected tasks decides nothing either.
async function enterSubmitsNothing(browser, storageState) {
  const page = await open(browser, { javaScriptEnabled: false, storageState });
  const tasks = inReview("One of two", "Two of two");
  for (const field of ["checkbox", "textbox"]) {
    await page.goto(`${stage.json("status").url}/inbox`);
    const item = page.locator(".item", { hasText: tasks[0] });
    await item.getByRole("checkbox").check();
    const focused = field === "checkbox" ? item.getByRole("checkbox") : page.locator("#why-all");
    await focused.press("Enter");
    await page.locator(".said", { hasText: "Nothing was done" }).waitFor();
    assert.deepEqual(tasks.map((id) => stage.status(id)), ["review", "review"]);
  }
  for (const id of tasks) stage.run("approve", id);
  await page.context().close();
}

// A story is started, reaches its review while its page is open, and is rejected.
async function aStory(page) {
  await page.goto(new URL("/stories", page.url()).href);
  await page.getByLabel("Story id").fill("US-001");
  await page.getByRole("button", { name: "Start" }).click();
  await page.locator(".said", { hasText: "Story started." }).waitFor();
  await page.getByLabel("Step", { exact: true }).selectOption("review");
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.locator(".said", { hasText: "Story rolled back." }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Reject" }).count(), 0);
  stage.run("story", "next");
  await page.getByLabel("Reason").selectOption("scope_warning");
  await page.getByRole("button", { name: "Reject" }).click();
  await page.locator(".said", { hasText: "Rejected." }).waitFor();
  assert.notEqual(stage.json("story", "status").step, "review");
}

async function withoutScript(browser, storageState) {
  const page = await open(browser, { javaScriptEnabled: false, storageState });
  const [address] = storageState.cookies;
  const origin = stage.json("status").url;
  assert.ok(address, "a browser that signed in has a cookie");
  await page.goto(`${origin}/tasks/new`);
  await page.getByLabel("Title").fill("Without script");
  await page.getByLabel("Initial status").selectOption("backlog");
  await page.getByRole("button", { name: "Create task" }).click();
  await page.locator(".s-backlog .card a.title", { hasText: "Without script" }).click();
  await page.getByRole("button", { name: "Move to ready" }).click();
  await page.locator(".said", { hasText: "Moved to ready." }).waitFor();
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
  await item.getByRole("button", { name: "Apply report" }).click();
  await page.locator(".said", { hasText: "Report applied." }).waitFor();
  assert.equal(stage.status(late), "review");
  await page.goto(`${origin}/stories`);
  await page.getByLabel("Story id").fill("US-002");
  await page.getByRole("button", { name: "Start" }).click();
  await page.locator(".said", { hasText: "Story started." }).waitFor();
  const story = page.locator("article", { hasText: "US-002" });
  await story.getByRole("button", { name: "Let agents perform the steps" }).click();
  await page.locator(".said", { hasText: "Agents now perform the steps." }).waitFor();
  await story.getByRole("button", { name: "Stop agents" }).click();
  await page.locator(".said", { hasText: "Steps are now started by hand." }).waitFor();
  assert.deepEqual(page.wrong, []);
  await page.context().close();
}

// Every page is accessible on a desktop and on a phone, in the light and in the dark theme.
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
