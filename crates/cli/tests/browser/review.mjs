// Reviewing in a real browser: nothing is merged or cancelled by accident, the outcome of an approval
// is said, a page stays still while a person works in it, and agents are answered on the task page.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { Stage, browse, open } from "./stage.mjs";

const SETTINGS = `
[scheduler]
backoff = "1ms"
concurrency = 4
[project]
merge = "squash"
[agents.dev]
kind = "command"
command = ["sh", "-c", """
case "$ADJUTANT_ATTEMPT" in
1) sed -i "s/two/two by $ADJUTANT_TASK_ID/" shared.txt ;;
*) sleep 600 ;;
esac
"""]
workspace = "worktree"
on_exit_ok = "done"
slots = 4
[agents.careful]
kind = "acp"
command = ["node", "careful.mjs"]
[agents.asker]
kind = "script"
script = "asker.yaml"
`;

// Speaks ACP: asks for a permission, waits for the answer, and ends its turn.
const CAREFUL = `
import { createInterface } from "node:readline";
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
let turn = null;
const answers = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {}, authMethods: [] }),
  "session/new": () => ({ sessionId: "s1" }),
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (answers[method]) return send({ id, result: answers[method]() });
  if (method === "session/prompt") {
    turn = id;
    const toolCall = {
      toolCallId: "t1", title: "Clean up", kind: "execute", status: "pending",
      rawInput: { command: "rm -rf build && git push --force" },
    };
    const options = [
      { optionId: "yes", name: "Allow", kind: "allow_once" },
      { optionId: "no", name: "Reject", kind: "reject_once" },
    ];
    return send({ id: 99, method: "session/request_permission", params: { sessionId: "s1", toolCall, options } });
  }
  if (id === 99 && turn !== null) send({ id: turn, result: { stopReason: "end_turn" } });
});
`;

const FILES = {
  "shared.txt": "one\ntwo\nthree\n",
  ".gitignore": "/*\n!/shared.txt\n!/.gitignore\n",
  "careful.mjs": CAREFUL,
  "asker.yaml": "steps: [{report: {outcome: blocked, blockers: [MIT or Apache?]}}]\n",
};

const stage = new Stage(SETTINGS, FILES);
const git = (...args) => execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: stage.home });
try {
  git("init", "-q", "-b", "main");
  git("add", "shared.txt", ".gitignore");
  git("commit", "-q", "-m", "first");
  const login = stage.up();
  await browse(async (browser) => {
    const page = await open(browser);
    await page.goto(login);
    await page.waitForURL(`${new URL(login).origin}/`);
    await mergeIsConfirmed(page);
    await conflictIsTold(page);
    await cancelIsConfirmed(page);
    await bulkIsConfirmed(page);
    await formUnderEditStays(page);
    await openDiffStays(page);
    await agentIsAnswered(page);
    await timesAreLocal(browser, page);
    assert.deepEqual(page.wrong, []);
  });
} finally {
  stage.end();
}

// Creates tasks in review that no agent takes, and returns their ids.
function inReview(...titles) {
  return titles.map((title) => {
    const id = stage.add(title, "--agent", "nobody");
    for (const to of ["ready", "in-progress", "review"]) stage.run("task", "move", id, to);
    return id;
  });
}

function url(path) {
  return stage.json("status").url + path;
}

async function until(page, what, check) {
  for (let turn = 0; ; turn++) {
    if (await check()) return;
    assert.ok(turn < 1200, what);
    await page.waitForTimeout(100);
  }
}

// Two changes of the same line wait for review; approving the first asks, and says the commit.
async function mergeIsConfirmed(page) {
  const ids = ["First", "Second"].map((title) => stage.add(title, "--agent", "dev", "--status", "ready"));
  await until(page, "both are reviewed", () => ids.every((id) => stage.status(id) === "review"));
  await page.goto(url(`/tasks/${ids[0]}`));
  await page.getByRole("button", { name: "Approve" }).click();
  const ask = page.locator("#ask[open]");
  await ask.waitFor();
  assert.match(await ask.innerText(), new RegExp(`merge its work\\?\\s+${ids[0]} First`));
  await page.keyboard.press("Escape");
  assert.equal(stage.status(ids[0]), "review");
  await page.getByRole("button", { name: "Approve" }).click();
  await ask.getByRole("button", { name: "Yes" }).click();
  await page.locator(".said", { hasText: `${ids[0]}: merged as ` }).waitFor();
  const commit = git("rev-parse", "main").toString().slice(0, 12);
  assert.ok((await page.locator('.said[role=status]').innerText()).includes(commit));
  stage.second = ids[1];
}

// A conflict is not a green "Approved."
async function conflictIsTold(page) {
  await page.goto(url("/inbox"));
  const item = page.locator(".item", { hasText: stage.second });
  await item.getByRole("button", { name: "Approve" }).click();
  await page.locator("#ask[open]").getByRole("button", { name: "Yes" }).click();
  await page.locator(".said.no", { hasText: "conflict in shared.txt: sent back to dev" }).waitFor();
  stage.run("task", "cancel", stage.second);
}

async function cancelIsConfirmed(page) {
  const id = stage.add("Not cancelled by accident");
  await page.goto(url(`/tasks/${id}`));
  await page.getByRole("button", { name: "Cancel task" }).click();
  const ask = page.locator("#ask[open]");
  assert.match(await ask.innerText(), new RegExp(`${id} Not cancelled by accident`));
  await ask.getByRole("button", { name: "No" }).click();
  assert.equal(stage.status(id), "backlog");
  await page.getByRole("button", { name: "Cancel task" }).click();
  await ask.getByRole("button", { name: "Yes" }).click();
  await page.locator(".said", { hasText: "Cancelled." }).waitFor();
  await page.getByRole("button", { name: "Reopen task" }).click();
  await page.locator(".said", { hasText: "returned to the backlog" }).waitFor();
  assert.equal(stage.status(id), "backlog");
}

// A bulk action names every task that it is about, and reports on each.
async function bulkIsConfirmed(page) {
  const ids = inReview("Bulk one", "Bulk two", "Bulk three");
  await page.goto(url("/inbox"));
  for (const id of ids.slice(0, 2)) {
    await page.locator(".item", { hasText: id }).getByRole("checkbox").check();
  }
  await page.locator("#chosen").getByRole("button", { name: "Approve" }).click();
  const ask = page.locator("#ask[open]");
  const text = await ask.innerText();
  for (const name of [`${ids[0]} Bulk one`, `${ids[1]} Bulk two`]) assert.ok(text.includes(name), text);
  assert.ok(!text.includes(ids[2]), text);
  await ask.getByRole("button", { name: "Yes" }).click();
  for (const id of ids.slice(0, 2)) {
    await page.locator(".said", { hasText: `${id}: approved` }).waitFor();
  }
  assert.deepEqual(ids.map((id) => stage.status(id)), ["done", "done", "review"]);
}

// Changes a task again and again in the background until it is stopped; returns how often it did.
function changesOf(id) {
  let made = 0;
  let isGoing = true;
  const change = async () => {
    while (isGoing) await stage.patch(`/v1/tasks/${id}`, { title: `Typed about ${made++}` });
  };
  const workers = [change(), change(), change(), change()];
  return async () => {
    isGoing = false;
    await Promise.all(workers);
    return made;
  };
}

// While the project is busy, a person types a reason. Not a character is lost, the focus stays and
// nothing scrolls. When the task moves on, the form says so and keeps the text.
async function formUnderEditStays(page) {
  const [id] = inReview("Typed about", "Typed about another");
  for (const path of [`/tasks/${id}`, "/inbox"]) {
    await page.goto(url(path));
    const place = path === "/inbox" ? page.locator(".item", { hasText: id }) : page;
    const field = place.getByPlaceholder("What must change").first();
    await field.click();
    await page.evaluate(() => (window.mark = document.activeElement));
    const stop = changesOf(id);
    const since = Date.now();
    const text = "Please keep the old name as an alias, and say so in the manual.";
    await page.keyboard.type(text, { delay: 60 });
    const made = await stop();
    console.log(`${path}: ${made} changes of the task in ${Date.now() - since} ms`);
    await page.getByText(`Typed about ${made - 1}`).first().waitFor();
    assert.equal(await field.inputValue(), text);
    assert.ok(await page.evaluate(() => window.mark === document.activeElement), "the same field has the focus");
  }
  // Another person decides meanwhile.
  await page.goto(url(`/tasks/${id}`));
  const field = page.getByPlaceholder("What must change");
  await field.fill("Shorter, please.");
  stage.run("reject", id, "--reason", "Other");
  await page.locator(".moved", { hasText: "The task has moved on" }).waitFor();
  await page.locator("h1 + .pill", { hasText: "ready" }).waitFor();
  assert.equal(await field.inputValue(), "Shorter, please.");
}

// The changes are shown by file. An open file, a selection and the scroll position survive events about the same task.
async function openDiffStays(page) {
  const id = stage.add("Long diff", "--agent", "dev", "--status", "ready");
  await until(page, "it is reviewed", () => stage.status(id) === "review");
  await page.goto(url(`/tasks/${id}`));
  const diff = page.locator("details.file", { hasText: "shared.txt" });
  assert.match(await diff.locator("summary").innerText(), /shared\.txt\s+modified \+1 -1/);
  await diff.locator("summary").click();
  const line = diff.locator("tr.came");
  const [before, after, text] = await line.locator("td").allInnerTexts();
  assert.deepEqual([before, after, text.startsWith(`+two by ${id}`)], ["", "2", true]);
  await page.evaluate(() => {
    const text = document.querySelector(".prose, dl.facts dd");
    getSelection().selectAllChildren(text);
    scrollTo(0, 200);
  });
  const still = await page.evaluate(() => [scrollY, getSelection().toString()]);
  stage.run("task", "edit", id, "--title", "A new title");
  await page.locator("h1", { hasText: "A new title" }).waitFor();
  assert.ok(await diff.evaluate((part) => part.open), "the diff is open");
  assert.deepEqual(await page.evaluate(() => [scrollY, getSelection().toString()]), still);
}

// A permission request and a question are on the page of their task, and are answered there.
async function agentIsAnswered(page) {
  const careful = stage.add("Tidy up", "--agent", "careful", "--status", "ready");
  const asker = stage.add("Choose", "--agent", "asker", "--status", "ready");
  const waits = () => stage.json("inbox").map(({ kind }) => kind);
  await until(page, "it asks", () => waits().includes("permission") && waits().includes("blocked"));
  const kinds = waits();
  assert.deepEqual(kinds.slice(0, 2), ["permission", "blocked"], `${kinds}`);
  assert.equal(kinds.at(-1), "review", `${kinds}`);
  await page.goto(url(`/tasks/${careful}`));
  const asks = page.locator("section", { hasText: "asks for permission" });
  assert.match(await asks.innerText(), /rm -rf build && git push --force/);
  await asks.getByRole("button", { name: "Deny" }).click();
  await page.locator(".said", { hasText: "Denied." }).waitFor();
  await page.goto(url(`/tasks/${asker}`));
  await page.locator(".asked", { hasText: "MIT or Apache?" }).waitFor();
  await page.getByPlaceholder("Your answer").fill("MIT");
  await page.getByRole("button", { name: "Answer" }).click();
  await page.locator(".said", { hasText: "Answered." }).waitFor();
}

// Times are in the zone of the person, and say so.
async function timesAreLocal(browser, signedIn) {
  const storageState = await signedIn.context().storageState();
  const page = await open(browser, { storageState, timezoneId: "Asia/Tokyo", locale: "en-GB" });
  await page.goto(url("/record"));
  const shown = await page.locator("time[datetime]").first().evaluate((time) => [time.dateTime, time.textContent]);
  const there = new Date(Date.parse(shown[0]) + 9 * 3600_000).toISOString();
  assert.equal(shown[1], `${there.slice(0, 10)} ${there.slice(11, 19)} GMT+9`);
  await page.goto(url("/tasks/TASK-1999-01-01-001"));
  await page.locator("main h1").waitFor();
  assert.match(await page.locator("main").innerText(), /TASK-1999-01-01-001/);
  await page.context().close();
}
