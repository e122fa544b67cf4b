// Small helps for reading and deciding. Every page works without them; nothing here decides, and nothing is evaluated.
"use strict";

const POLL_MS = 5000;
const YEAR_S = 31536000;
const ROWS = "main .rows > li, #list tbody > tr";
const TYPED_IN = "input, select, textarea, [contenteditable]:not([contenteditable='false'])";

const first = (selector, inside = document) => inside.querySelector(selector);
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];

// --- Times. The server writes them in the reader's zone; a browser says once which that is.

const WRITTEN = {
  en: { month: "short", words: (p) => `${p.day} ${p.month} ${p.year}`, joint: ", " },
  "zh-Hans": { month: "numeric", words: (p) => `${p.year}年${parseInt(p.month, 10)}月${parseInt(p.day, 10)}日`, joint: " " },
};

function written(instant, zone, language, dayOnly) {
  const form = WRITTEN[language] ?? WRITTEN.en;
  const asked = { year: "numeric", month: form.month, day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const parts = new Intl.DateTimeFormat("en", { ...asked, timeZone: zone }).formatToParts(instant);
  const named = Object.fromEntries(parts.map((part) => [part.type, part.value]));
  return form.words(named) + (dayOnly ? "" : `${form.joint}${named.hour}:${named.minute}`);
}

function inZone(zone, inside = document) {
  for (const time of all("time[datetime]", inside)) {
    const instant = new Date(time.dateTime);
    if (!Number.isNaN(instant.getTime())) {
      time.textContent = written(instant, zone, document.documentElement.lang, "day" in time.dataset);
    }
  }
  for (const name of all("[data-zone-name]", inside)) name.textContent = zone;
}

function tellZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!zone || document.body.dataset.zone === zone) return;
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `slowwave_zone=${encodeURIComponent(zone)}; path=/; max-age=${YEAR_S}; samesite=lax${secure}`;
  inZone(zone); // this page was written before the server knew; the next one comes right
}

// --- Single keys. They move, open and make ready; none of them sends a form.

const KEYS = new Map([
  ["j", () => move(1)],
  ["k", () => move(-1)],
  ["o", () => press(rowOf(document.activeElement) ?? rows()[0])],
  ["a", () => ready("approve")],
  ["r", () => ready("reject")],
  ["e", edit],
  ["?", () => show(first("#shortcuts"))],
]);

function rows() {
  const found = all(ROWS).map((row) => first("a.row-link, a[href]", row));
  return found.filter((link) => link !== null);
}

function rowOf(element) {
  const row = element?.closest(ROWS);
  return row ? first("a.row-link, a[href]", row) : null;
}

function press(link) {
  if (!link) return false;
  link.click();
  return true;
}

// In a list: to the next row. On a candidate: to the next one of the queue. Pages of a list are not candidates.
function move(by) {
  const links = rows();
  if (links.length === 0) return press(first(`main a[rel~="${by > 0 ? "next" : "prev"}"]:not(.pager a)`));
  const at = links.indexOf(rowOf(document.activeElement));
  const to = links[at < 0 ? 0 : Math.min(Math.max(at + by, 0), links.length - 1)];
  to.focus();
  to.scrollIntoView({ block: "nearest" });
  return true;
}

// Puts the focus on the reason, so that the next key is a word of it and not a decision.
function ready(verdict) {
  const button = first(`#decision [data-decides="${verdict}"]`);
  const reason = button && first("textarea[name=reason]", button.form);
  if (!reason) return false;
  unready();
  button.classList.add("readied");
  reveal(reason);
  say(first("#said").dataset[verdict]);
  return true;
}

function unready() {
  for (const button of all(".readied")) button.classList.remove("readied");
}

function edit() {
  const form = first("details#edit");
  if (!form) return false;
  form.open = true;
  reveal(first("textarea, select, input:not([type=hidden])", form) ?? first("summary", form));
  return true;
}

function reveal(element) {
  for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  element.focus();
  element.scrollIntoView({ block: "nearest" });
}

function show(dialog) {
  if (!dialog) return false;
  dialog.showModal();
  return true;
}

function say(words) {
  first("#said").textContent = words ?? "";
}

function onKey(event) {
  if (event.isComposing || event.defaultPrevented) return;
  if (event.target.closest("#decision form") && finishes(event)) return;
  if (document.body.dataset.shortcuts !== "on" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest(TYPED_IN) || first("dialog[open]")) return;
  if (KEYS.get(event.key)?.()) event.preventDefault();
}

// In the reason: Ctrl and Enter sends what was made ready, Escape leaves it.
function finishes(event) {
  const button = first(".readied", event.target.closest("form"));
  if (!button) return false;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat) {
    event.preventDefault();
    button.form.requestSubmit(button);
    return true;
  }
  if (event.key === "Escape") {
    unready();
    say("");
    event.target.blur();
    return true;
  }
  return false;
}

// --- Requests for a part of a page.

const kept = new WeakMap(); // request: how to find the element again that had the focus
const busy = new WeakMap(); // request: what it was asked for

// An error is told at the top and replaces nothing: a half-written reason stays.
function onAnswer(event) {
  const { xhr, isError, target } = event.detail;
  if (!isError) {
    kept.set(xhr, target.contains(document.activeElement) ? traits(document.activeElement) : null);
    return;
  }
  const trouble = first("#trouble");
  if (trouble.dataset.status !== String(xhr.status)) {
    trouble.dataset.status = xhr.status;
    if ((xhr.getResponseHeader("content-type") ?? "").startsWith("text/html")) {
      Object.assign(event.detail, { shouldSwap: true, target: trouble, selectOverride: ".message", swapOverride: "innerHTML" });
      return;
    }
    trouble.textContent = xhr.responseText;
  }
  event.detail.shouldSwap = false;
}

function onUnreachable() {
  const trouble = first("#trouble");
  if (trouble.dataset.status === "none") return;
  trouble.dataset.status = "none";
  trouble.textContent = trouble.dataset.unreachable;
}

function onDone(event) {
  busy.get(event.detail.xhr)?.removeAttribute("aria-busy");
  if (!event.detail.successful) return;
  const trouble = first("#trouble");
  delete trouble.dataset.status;
  trouble.replaceChildren();
}

// What the reader asked for is shown as under way; what the page asks by itself is not.
function onAsk(event) {
  const { xhr, target, requestConfig } = event.detail;
  if (!["click", "submit", "change"].includes(requestConfig?.triggeringEvent?.type)) return;
  target.setAttribute("aria-busy", "true");
  busy.set(xhr, target);
}

function traits(element) {
  return [element.tagName, element.name, element.rel, element.rel ? "" : element.getAttribute("href"), element.textContent];
}

// Fields by their name, links by what they say and where they lead; "next" stays "next" wherever it leads by now.
function same(element, wanted) {
  return traits(element).every((trait, place) => trait === wanted[place]);
}

// A swap took the element that had the focus: to what stands in its place, else to the part that is new.
function onSwapped(event) {
  const { xhr, target } = event.detail;
  const wanted = kept.get(xhr);
  kept.delete(xhr);
  if (!wanted || document.activeElement !== document.body) return;
  const part = target.isConnected ? target : event.target;
  const again = all("a, button, input:not([type=hidden]), select, textarea, summary", part).find((each) => same(each, wanted));
  if (!again && !part.hasAttribute("tabindex")) part.setAttribute("tabindex", "-1");
  (again ?? part).focus({ preventScroll: true });
}

// --- Parts that show what is under way.

const streams = new Map(); // path of a stream: the stream, or the timer that took its place

// An address says in its query what the page shows already; only its path says which stream it is.
const pathOf = (element) => element.dataset.events.split("?")[0];
const current = (path) => all("[data-events]").find((element) => pathOf(element) === path);

function follow(path, address) {
  const source = new EventSource(address);
  const refresh = () => current(path) && htmx.trigger(current(path), "refresh");
  let errors = 0;
  const heard = () => {
    errors = 0;
    refresh();
  };
  source.addEventListener("progress", heard);
  source.addEventListener("end", () => {
    source.close();
    heard();
  });
  source.addEventListener("error", () => {
    errors += 1;
    if (errors < 2 && source.readyState !== EventSource.CLOSED) return;
    source.close();
    streams.set(path, { close: every(refresh) });
  });
  streams.set(path, source);
}

// An element is replaced by its own refresh, so a stream lives while any element names it.
function followAll() {
  for (const [path, stream] of streams) {
    if (current(path)) continue;
    stream.close();
    streams.delete(path);
  }
  for (const element of all("[data-events]")) {
    if (!streams.has(pathOf(element))) follow(pathOf(element), element.dataset.events);
  }
}

function every(act) {
  const timer = setInterval(() => document.hidden || act(), POLL_MS);
  return () => clearInterval(timer);
}

function lookAgain() {
  if (!first("#list[data-live]")) return;
  const here = location.pathname + location.search;
  const asked = htmx.ajax("GET", here, { target: "#list", select: "#list", swap: "outerHTML" });
  asked.catch(() => {}); // onUnreachable told it
}

// --- Begin.

function prefer(form) {
  for (const element of all("[data-with-script]", form)) element.hidden = false;
  for (const element of all("[data-without-script]", form)) element.hidden = true;
  form.addEventListener("change", () => form.requestSubmit());
}

function begin() {
  tellZone();
  document.addEventListener("keydown", onKey);
  for (const button of all("[data-opens]")) {
    button.hidden = false;
    button.addEventListener("click", () => show(document.getElementById(button.dataset.opens)));
  }
  all("form.preferences").forEach(prefer);
  document.addEventListener("htmx:beforeSwap", onAnswer);
  document.addEventListener("htmx:beforeRequest", onAsk);
  document.addEventListener("htmx:afterRequest", onDone);
  document.addEventListener("htmx:sendError", onUnreachable);
  document.addEventListener("htmx:timeout", onUnreachable);
  document.addEventListener("htmx:afterSwap", onSwapped);
  document.addEventListener("htmx:afterSwap", followAll);
  followAll();
  every(lookAgain);
}

begin();
