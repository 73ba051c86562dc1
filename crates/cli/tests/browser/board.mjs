// The board in a real browser: what a person does with it, and attacks that must fail.

import assert from "node:assert/strict";
import { Stage, barriers, browse, open, serve } from "./stage.mjs";

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
    await page.waitForURL(`${new URL(login).origin}/`);
    await aWholeLife(page);
    await aQuestion(page);
    await aLateReport(page);
    await keys(page);
    await enterOpensEntry(page);
    await aStory(page);
    await withoutScript(browser, await page.context().storageState());
    await linkFromElsewhere(browser, page);
    await signOutRevokes(browser);
    await anotherPort(browser);
    await lostStorage(browser);
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
  await page.locator(".said", { hasText: "Task created." }).waitFor();
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
  await page.locator("#ask[open]").getByRole("button", { name: "Yes" }).click();
  await page.locator(".said", { hasText: "Approved." }).waitFor();
  assert.deepEqual([stage.status(first), stage.status(second)], ["done", "done"]);
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

// Without the script every page can be read, says that changes need it, and changes nothing.
async function withoutScript(browser, storageState) {
  const page = await open(browser, { javaScriptEnabled: false, storageState });
  const origin = stage.json("status").url;
  const [id] = inReview("Without script");
  for (const path of ["/", "/inbox", "/stories", "/agents", "/record", "/figures", `/tasks/${id}`]) {
    await page.goto(origin + path);
    await page.locator("main h1").first().waitFor();
    // Chromium does not draw `noscript` if scripts are off for a test only.
    assert.match(await page.content(), /<noscript>.*changes need JavaScript/, path);
  }
  for (const path of ["/inbox", `/tasks/${id}`]) {
    await page.goto(origin + path);
    await page.getByRole("button", { name: "Approve" }).first().click();
    await page.getByText("no valid CSRF token").first().waitFor();
  }
  await page.goto(`${origin}/tasks/new`);
  await page.getByLabel("Title").fill("Made without script");
  await page.getByRole("button", { name: "Create task" }).click();
  await page.getByText("no valid CSRF token").first().waitFor();
  assert.equal(stage.status(id), "review");
  assert.ok(stage.json("task", "list").every(({ title }) => title !== "Made without script"));
  stage.run("approve", id);
  await page.context().close();
}

// A link from another site leads to the page that it names, also for a person who signs in first.
async function linkFromElsewhere(browser, signedIn) {
  const id = stage.add("Linked from a chat");
  const { url } = stage.json("status");
  const elsewhere = await serve((request, answer) => {
    answer.setHeader("content-type", "text/html");
    answer.end(`<a href="${url}/tasks/${id}?run=1">the task</a>`);
  });
  // `localhost` and `127.0.0.1` are different sites.
  const link = `http://localhost:${elsewhere.port}/`;
  await signedIn.goto(link);
  await signedIn.getByRole("link", { name: "the task" }).click();
  await signedIn.getByRole("heading", { name: "Linked from a chat" }).waitFor();
  assert.equal(signedIn.url(), `${url}/tasks/${id}?run=1`);
  const page = await open(browser);
  await page.goto(link);
  await page.getByRole("link", { name: "the task" }).click();
  await page.getByLabel("Token").waitFor();
  // Signing in with a link in another tab continues in this one.
  const other = await page.context().newPage();
  await other.goto(stage.json("open").login);
  await page.waitForURL(`${url}/tasks/${id}?run=1`);
  await other.waitForURL(`${url}/`);
  await page.getByRole("heading", { name: "Linked from a chat" }).waitFor();
  // Signing in with the token leads there, too.
  await page.context().clearCookies();
  await page.goto(`${url}/tasks/${id}?find=x`);
  await page.getByLabel("Token").fill(stage.token());
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${url}/tasks/${id}?find=x`);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
  elsewhere.close();
}

// Signing out ends the session for good: a copy of the cookie does not work any more.
async function signOutRevokes(browser) {
  const page = await open(browser);
  await page.goto(stage.json("open").login);
  const { url } = stage.json("status");
  await page.waitForURL(`${url}/`);
  const kept = await page.context().storageState();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(`${url}/login`);
  await page.context().close();
  const copy = await open(browser, { storageState: kept });
  await copy.goto(`${url}/inbox`);
  await copy.waitForURL(`${url}/login?next=%2Finbox`);
  await copy.context().close();
}

// A server on another port of this host gets the cookie. Neither its pages nor the server itself can
// change anything with it.
async function anotherPort(browser) {
  const [id] = inReview("Attacked");
  const { url } = stage.json("status");
  const cookies = [];
  const attacker = await serve((request, answer) => {
    cookies.push(request.headers.cookie ?? "");
    answer.setHeader("content-type", "text/html");
    const fields = `<input name="text" value="attacked"><input name="csrf" value="guess">`;
    answer.end(`
      <form method="post" action="${url}/tasks/${id}/approve">${fields}<button>Go</button></form>
      <script>
        const form = { method: "POST", credentials: "include", mode: "no-cors" };
        const body = new URLSearchParams({ csrf: localStorage.getItem(Object.keys(localStorage)[0]) ?? "" });
        const read = fetch("${url}/tasks/${id}", { credentials: "include" }).then(() => "read", () => "not read");
        const tried = fetch("${url}/tasks/${id}/approve", { ...form, body }).then(() => "sent", () => "not sent");
        Promise.all([read, tried]).then((done) => (document.title = done.join(", ")));
      </script>`);
  });
  const page = await open(browser);
  await page.goto(stage.json("open").login);
  await page.waitForURL(`${url}/`);
  const held = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`);
  await page.goto(`http://127.0.0.1:${attacker.port}/`);
  await page.waitForFunction(() => document.title.includes(","));
  assert.match(await page.title(), /^not read, /);
  assert.deepEqual(cookies.filter((cookie) => cookie.includes(held[0])).length > 0, true, "it got the cookie");
  assert.equal(await page.evaluate(() => localStorage.length), 0, "the storage is another origin's");
  await page.getByRole("button", { name: "Go" }).click();
  await page.waitForURL(`${url}/tasks/${id}/approve`);
  await page.getByText("made by a web page of another origin").first().waitFor();
  // The server uses the cookie itself: it can read pages, and finds no proof in them.
  const [cookie] = cookies.filter((one) => one.includes(held[0]));
  const { csrf } = await page.context().storageState().then(({ origins }) => {
    const [own] = origins.filter(({ origin }) => origin === url);
    return { csrf: own.localStorage[0].value };
  });
  for (const path of ["/", "/inbox", `/tasks/${id}`, "/login"]) {
    const text = await (await fetch(url + path, { headers: { cookie } })).text();
    assert.ok(!text.includes(csrf), `${path} has the proof`);
  }
  const body = new URLSearchParams({ csrf: "guess" });
  const forged = await fetch(`${url}/tasks/${id}/approve`, { method: "POST", headers: { cookie }, body });
  assert.equal(forged.status, 403);
  assert.equal(stage.status(id), "review");
  // The page itself still can.
  await page.goto(`${url}/tasks/${id}`);
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator(".said", { hasText: "Approved." }).waitFor();
  assert.equal(stage.status(id), "done");
  await page.context().close();
  attacker.close();
}

// A browser that kept its cookie and lost its storage says so, and a new sign-in repairs it.
async function lostStorage(browser) {
  const [id] = inReview("Lost storage");
  const { url } = stage.json("status");
  const page = await open(browser);
  await page.goto(stage.json("open").login);
  await page.waitForURL(`${url}/`);
  await page.evaluate(() => localStorage.clear());
  await page.goto(`${url}/tasks/${id}`);
  await page.getByRole("link", { name: "Sign in again" }).click();
  await page.getByLabel("Token").fill(stage.token());
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${url}/tasks/${id}`);
  await page.locator("#no-proof").waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator(".said", { hasText: "Approved." }).waitFor();
  assert.equal(stage.status(id), "done");
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
