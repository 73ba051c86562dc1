// Updates pages live, and proves that changes come from a page of this origin. Without it, pages are
// complete, show the state when they were requested, and cannot change anything.
"use strict";

const REST_MS = 400; // Changes are gathered before the page is asked for again.
const TELL_MS = 4000; // Screen readers announce the inbox count at most this often.

const heard = document.getElementById("heard");
const light = document.getElementById("live");

// --- Proof of origin -------------------------------------------------------------------------

// The anti-forgery token is in the storage of this origin, where sign-in left it. Pages do not have
// it: a server on another port of this host gets the cookie, and could read it there.
function csrfToken() {
  try {
    return localStorage.getItem(document.body.dataset.storageKey);
  } catch {
    return null; // The browser has no storage for this page.
  }
}

function addProof(event) {
  if (event.target.method === "post") event.formData.set("csrf", csrfToken() ?? "");
}

function noteMissingProof() {
  const note = document.getElementById("no-proof");
  note.hidden = !document.body.dataset.storageKey || csrfToken() !== null;
  const here = encodeURIComponent(location.pathname + location.search);
  note.querySelector("a").href = `/login?next=${here}`;
}

// --- Live updates ---------------------------------------------------------------------------

let asked = 0;
let waiting = null;
let spoken = 0;

function changed() {
  if (waiting !== null || document.hidden) return;
  waiting = setTimeout(refresh, REST_MS);
}

async function refresh() {
  waiting = null;
  const turn = ++asked;
  let page;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!answer.ok) return;
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    return; // The stream says so when the server is back.
  }
  if (turn !== asked) return;
  for (const part of document.querySelectorAll("[data-live]")) {
    const fresh = page.querySelector(`[data-live="${CSS.escape(part.dataset.live)}"]`);
    if (fresh && !isBusy(part)) become(part, fresh);
  }
  showRun(document.querySelector("[data-output]"), page.querySelector("[data-output]"));
  const badge = page.getElementById("waiting");
  if (badge) tell(badge);
  pick(picked, false);
}

// Do not replace a text that the person is typing or has selected.
function isBusy(part) {
  const active = document.activeElement;
  const writes = part.contains(active) && active.matches("input, textarea, select");
  const marks = !getSelection().isCollapsed && part.contains(getSelection().anchorNode);
  return writes || marks;
}

// Replaces the old content with the new. An element with a known key is kept, so that unchanged
// content is not drawn, read out or scrolled again.
function become(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  const known = new Map();
  for (const child of old.querySelectorAll("[data-key]")) known.set(child.dataset.key, child);
  for (const child of fresh.querySelectorAll("[data-key]")) {
    const same = known.get(child.dataset.key);
    if (same && same.isEqualNode(child)) child.replaceWith(same);
    else if (!same) child.classList.add("is-new");
  }
  const left = old.scrollLeft;
  for (const name of old.getAttributeNames()) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const name of fresh.getAttributeNames()) old.setAttribute(name, fresh.getAttribute(name));
  old.replaceChildren(...fresh.childNodes);
  old.scrollLeft = left;
}

function tell(badge) {
  const now = document.getElementById("waiting");
  if (now.isEqualNode(badge)) return;
  now.replaceChildren(...badge.childNodes);
  const since = Date.now() - spoken;
  if (since < TELL_MS) return;
  spoken = Date.now();
  heard.textContent = now.textContent.trim() ? `Inbox: ${now.textContent.trim()}` : "Inbox: empty";
}

function listen() {
  const stream = new EventSource("/board/changes");
  stream.addEventListener("open", () => {
    show("on");
    changed();
  });
  stream.addEventListener("error", () => show("off"));
  stream.addEventListener("changed", changed);
}

function show(state) {
  light.hidden = false;
  light.dataset.live = state;
  light.textContent = state === "on" ? "live" : "not connected";
}

// --- Output of a run -------------------------------------------------------------------------

// Switches to the output of a newer run. The output of the same run is appended elsewhere.
function showRun(old, fresh) {
  const from = (part) => part?.querySelector(".log")?.dataset.from;
  if (!old || !fresh || from(old) === from(fresh) || isBusy(old)) return;
  old.replaceChildren(...fresh.childNodes);
  watchLogs(old);
}

function watchLogs(part) {
  for (const log of part.querySelectorAll(".log[data-from]")) {
    log.scrollTop = log.scrollHeight;
    if (log.dataset.run) follow(log);
  }
}

async function follow(log) {
  let offset = Number(log.dataset.offset);
  for (;;) {
    try {
      const answer = await fetch(`${log.dataset.from}&follow=true&from=${offset}`);
      if (!answer.ok) return;
      const counted = new TransformStream({
        transform(piece, on) {
          offset += piece.length;
          on.enqueue(piece);
        },
      });
      const texts = answer.body.pipeThrough(counted).pipeThrough(new TextDecoderStream());
      for (let reader = texts.getReader(); ; ) {
        const { done, value } = await reader.read();
        if (done) return changed();
        print(log, value);
      }
    } catch {
      await new Promise((go) => setTimeout(go, 2000)); // The server may be about to come back.
    }
  }
}

function print(log, text) {
  const below = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  log.append(visible(text));
  shorten(log);
  if (below) log.scrollTop = log.scrollHeight;
}

// Removes terminal colours and replaces control characters, as the server does.
function visible(text) {
  const plain = text.replace(/\x1b\[[0-9;?]*[@-~]/g, "").replace(/\r/g, "");
  return plain.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

// Keeps only the end of the output, so that a page left open overnight does not grow without limit.
function shorten(log) {
  const most = 400_000;
  if (log.textContent.length > 2 * most) log.textContent = log.textContent.slice(-most);
}

// --- Times -----------------------------------------------------------------------------------

function span(millis) {
  const secs = Math.max(0, Math.floor(millis / 1000));
  if (secs < 60) return `${secs} s`;
  if (secs < 3600) return `${Math.floor(secs / 60)} min`;
  if (secs < 86400) return `${Math.floor(secs / 3600)} h ${Math.floor((secs % 3600) / 60)} min`;
  return `${Math.floor(secs / 86400)} d ${Math.floor((secs % 86400) / 3600)} h`;
}

function tick() {
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const text = span(Date.now() - Date.parse(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  }
}

// --- Keys ------------------------------------------------------------------------------------

let picked = -1;

const ENTRIES = ".card, .item, article.sheet, table.record tr[data-key]";

function choices() {
  return [...document.querySelectorAll(ENTRIES)];
}

function pick(place, move) {
  const all = choices();
  for (const one of document.querySelectorAll(".picked")) one.classList.remove("picked");
  picked = Math.min(Math.max(place, -1), all.length - 1);
  if (picked < 0) return;
  all[picked].classList.add("picked");
  if (!move) return;
  all[picked].scrollIntoView({ block: "nearest", inline: "nearest" });
  all[picked].querySelector("a, input, button")?.focus({ preventScroll: true });
}

function act(name) {
  const place = choices()[picked] ?? document;
  const form = place.querySelector(`form[data-act="${name}"]`);
  if (!form) return;
  const field = form.querySelector("input[required]");
  if (field) field.focus();
  else form.requestSubmit();
}

// Opens the entry that has the focus, or else the highlighted one.
function openEntry(focused) {
  const entry = focused.closest(ENTRIES) ?? choices()[picked];
  entry?.querySelector("a[href]")?.click();
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input:not([type=checkbox]), textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  // Links, buttons and open dialogs handle Enter themselves. A checkbox would submit its form.
  const handlesEnter = event.target.closest("a[href], button, summary, dialog");
  if (event.key === "Enter" && handlesEnter) return;
  const actions = {
    Enter: () => openEntry(event.target),
    j: () => pick(picked + 1, true),
    k: () => pick(Math.max(picked - 1, 0), true),
    a: () => act("approve"),
    r: () => act("reject"),
    "/": () => document.getElementById("q").focus(),
    "?": () => document.getElementById("keys").showModal(),
  };
  const action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
  if (!action) return;
  event.preventDefault();
  action();
}

document.addEventListener("formdata", addProof);
document.addEventListener("keydown", pressed);
noteMissingProof();
document.addEventListener("visibilitychange", () => changed());
watchLogs(document);
setInterval(tick, 1000);
listen();
