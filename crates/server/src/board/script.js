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

// --- Confirmation ----------------------------------------------------------------------------

// Asks once before a form merges, cancels or decides on several tasks.
function confirmFirst(event) {
  const { target: form, submitter } = event;
  const text = questionOf(form, submitter);
  if (!text || form.confirmed) {
    form.confirmed = false;
    return;
  }
  event.preventDefault();
  const dialog = document.getElementById("ask");
  dialog.querySelector("p").textContent = text;
  dialog.returnValue = "";
  dialog.onclose = () => {
    if (dialog.returnValue !== "yes") return;
    form.confirmed = true;
    form.requestSubmit(submitter);
  };
  dialog.showModal();
}

function questionOf(form, submitter) {
  if (form.id !== "chosen") return form.dataset.confirm;
  const chosen = [...form.elements].filter((field) => field.type === "checkbox" && field.checked);
  if (chosen.length === 0 || !submitter?.dataset.verb) return null;
  const names = chosen.map((field) => field.dataset.name).join("\n");
  const merges = submitter.value === "approve" && chosen.some((field) => "merges" in field.dataset);
  const count = chosen.length === 1 ? "this task" : `these ${chosen.length} tasks`;
  return `${submitter.dataset.verb} ${count}${merges ? " and merge the work" : ""}?\n${names}`;
}

// --- Live updates ---------------------------------------------------------------------------

let waiting = null;
let asking = false;
let stale = false;
let spoken = 0;

// Asks for the page once for all changes that arrive together, and never twice at a time: under many
// changes a slow page would otherwise never be shown.
function changed() {
  stale = true;
  if (waiting !== null || asking || document.hidden) return;
  waiting = setTimeout(refresh, REST_MS);
}

async function refresh() {
  waiting = null;
  asking = true;
  stale = false;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (answer.ok) showPage(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    // The stream says so when the server is back.
  }
  asking = false;
  if (stale) changed();
}

function showPage(page) {
  showLocalTimes(page);
  const main = document.getElementById("main");
  const fresh = page.getElementById("main");
  if (!main || !fresh) return;
  update(main, fresh);
  showRun(document.querySelector("[data-output]"), page.querySelector("[data-output]"));
  const badge = page.getElementById("waiting");
  if (badge) tell(badge);
  const place = choices().findIndex((one) => one.classList.contains("picked"));
  pick(place < 0 ? picked : place, false);
}

// What the server does not decide: the output of a run is appended elsewhere, the script shows or
// hides the note, and a parser without scripts reads `noscript` differently.
const OWN = "[data-output], #no-proof, noscript";
const OWN_ATTRIBUTES = { DETAILS: ["open"], INPUT: ["value", "checked"], OPTION: ["selected"] };
const OWN_CLASSES = ["picked", "is-new"];

// Changes the old element into the fresh one. Elements stay the same objects, so that open sections,
// scroll positions, focus, selection and typed text stay.
function update(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.matches("form") && isEdited(old)) return noteMoved(old, fresh);
  updateAttributes(old, fresh);
  if (old.matches("input, textarea, select") && isFieldEdited(old)) return;
  updateChildren(old, fresh);
}

function updateAttributes(old, fresh) {
  const own = OWN_ATTRIBUTES[old.tagName] ?? [];
  const classes = OWN_CLASSES.filter((name) => old.classList.contains(name));
  for (const name of old.getAttributeNames()) {
    if (!own.includes(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const name of fresh.getAttributeNames()) {
    const value = fresh.getAttribute(name);
    if (!own.includes(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  old.classList.add(...classes);
  if (old.getAttribute("class") === "") old.removeAttribute("class");
}

function updateChildren(old, fresh) {
  const wanted = [...fresh.childNodes].filter((node) => !isOwn(node));
  const keys = new Set(wanted.map(keyOf).filter(Boolean));
  const known = new Map();
  for (const node of [...old.childNodes]) {
    node.kept = false;
    const key = keyOf(node);
    if (!key || isOwn(node)) continue;
    if (keys.has(key)) known.set(key, node);
    else remove(node);
  }
  let next = skipKept(old.firstChild);
  for (const node of wanted) {
    const same = known.get(keyOf(node)) ?? plainMatch(next, node);
    known.delete(keyOf(node));
    if (!same) {
      if (node.dataset?.key) node.classList.add("is-new");
      old.insertBefore(node, next);
      continue;
    }
    // What a person works in is not moved, because it would lose the focus: the others are.
    while (next !== same && isInUse(same)) {
      const other = next;
      next = skipKept(next.nextSibling);
      old.insertBefore(other, same.nextSibling);
    }
    if (next === same) next = skipKept(next.nextSibling);
    else old.insertBefore(same, next);
    if (same.nodeType === Node.ELEMENT_NODE) update(same, node);
    else if (same.data !== node.data && !isSelected(same)) same.data = node.data;
  }
  while (next) {
    const after = skipKept(next.nextSibling);
    remove(next);
    next = after;
  }
}

function isOwn(node) {
  return node.nodeType === Node.ELEMENT_NODE && node.matches(OWN);
}

// Nodes that stay although the fresh page does not have them are passed over.
function skipKept(node) {
  while (node && (isOwn(node) || node.kept)) node = node.nextSibling;
  return node;
}

// Tells what an element is about. A form is about its action and, if it has one, its request.
function keyOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return null;
  if (node.id) return `#${node.id}`;
  const { key, live, act } = node.dataset;
  if (key) return `key ${key}`;
  if (live) return `live ${live}`;
  return act ? `form ${node.getAttribute("action")} ${node.dataset.about ?? ""}` : null;
}

// Returns the next old node if it has no key and is of the same kind.
function plainMatch(next, node) {
  const fits = next && !keyOf(next) && !keyOf(node) && next.nodeName === node.nodeName;
  return fits ? next : null;
}

// Removes an element, unless a person is typing in it or has selected text of it.
function remove(node) {
  const edited = node.nodeType === Node.ELEMENT_NODE ? [node, ...node.querySelectorAll("form")] : [];
  const forms = edited.filter((form) => form.matches("form") && isEdited(form));
  for (const form of forms) noteMoved(form, null);
  if (forms.length > 0 || isSelected(node)) node.kept = true;
  else node.remove();
}

function isInUse(node) {
  return node.contains(document.activeElement) && document.activeElement !== document.body;
}

function isSelected(node) {
  const selection = getSelection();
  return !selection.isCollapsed && selection.containsNode(node, true);
}

function isEdited(form) {
  return [...form.elements].some(isFieldEdited);
}

function isFieldEdited(field) {
  if (!field.matches("input, textarea, select") || field.type === "hidden") return false;
  if (field === document.activeElement) return field.type !== "checkbox";
  if (field.matches("select")) {
    const first = Math.max([...field.options].findIndex((option) => option.defaultSelected), 0);
    return field.selectedIndex !== first;
  }
  if (field.type === "checkbox") return field.checked !== field.defaultChecked;
  return field.value !== field.defaultValue;
}

// Says next to a form under edit that its task has moved on. The form itself stays as it is.
function noteMoved(form, fresh) {
  if (!form.dataset.at || form.dataset.at === fresh?.dataset.at) return;
  let note = form.querySelector(".moved");
  if (!note) {
    note = document.createElement("p");
    note.className = "moved bad small";
    note.setAttribute("role", "status");
    form.append(note);
  }
  const text = `The task has moved on since you began: it was ${form.dataset.at}.`;
  const advice = fresh ? "Read it again before you decide." : "This may not be possible any more.";
  if (note.textContent !== `${text} ${advice}`) note.textContent = `${text} ${advice}`;
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
  const size = old?.querySelector("[data-live=size]");
  if (size) update(size, fresh?.querySelector("[data-live=size]") ?? size);
  if (!old || !fresh || from(old) === from(fresh) || isInUse(old) || isSelected(old)) return;
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

// Shows times in the zone of the person, and names it. The server writes them in UTC.
function showLocalTimes(place) {
  for (const time of place.querySelectorAll("time:not([data-ago])")) {
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.getTime())) time.textContent = localTime(at);
  }
}

const zoneFormat = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" });

function localTime(at) {
  const two = (number) => String(number).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":");
  const zone = zoneFormat.formatToParts(at).find(({ type }) => type === "timeZoneName");
  return `${day} ${time} ${zone?.value ?? ""}`.trim();
}

function tick() {
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const text = span(Date.now() - Date.parse(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  }
}

// --- Keys ------------------------------------------------------------------------------------

let picked = -1;

const ENTRIES = ".card, .item, article.sheet, .event";

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
document.addEventListener("submit", confirmFirst);
document.addEventListener("keydown", pressed);
noteMissingProof();
showLocalTimes(document);
document.addEventListener("visibilitychange", () => changed());
watchLogs(document);
setInterval(tick, 1000);
listen();
