(() => {
// What happened, in words: values, messages and steps as one reads them, the paper's names, and the search.

const LONG = 8;
const FEW_PLACES = 3;

/** A value of the trace as a paper would write it. */
function show(value) {
  if (value === null || value === undefined) return "–";
  if (Array.isArray(value)) return `[${value.map(showPair).join(value.some(Array.isArray) ? " " : ", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, each]) => `${name}: ${show(each)}`).join(", ")}}`;
  return String(value);
}

/** Pairs such as timestamps are written in round brackets: (2, 1). */
function showPair(value) {
  return Array.isArray(value) ? `(${value.map(show).join(",")})` : show(value);
}

function showMessage(message) {
  const fields = Object.entries(message.fields || {}).map(([name, value]) => `${name}=${show(value)}`);
  return fields.length ? `${message.kind}(${fields.join(", ")})` : message.kind;
}

/** What a run is of. A text with its errors has the name of the repaired algorithm. */
function titleOf({ head }) {
  const printed = head.printed ? `, as printed${head.erratum ? ` (${head.erratum})` : ""}` : "";
  return (head.title || head.algorithm) + printed;
}

/** The names of sites as a list in words. */
function list(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

const DOINGS = {
  begin: "The run begins",
  request: (name) => `${name} asks`,
  release: (name) => `${name} leaves`,
  crash: (name) => `${name} crashes`,
  restart: (name) => `${name} comes back`,
  pause: (name) => `${name} is paused`,
  resume: (name) => `${name} goes on`,
  cut: () => "The network is cut",
  heal: () => "The network is whole again",
  note: () => "Note",
};

/** One step in sentences: what happened, what it caused, what it changed. */
function describe(run, n) {
  const step = run.steps[n];
  if (step.what === "note" && step.text) return sentence(step.text);
  const parts = [doing(run, step) + consequences(run, step) + "."];
  const changes = changed(run, n).flatMap(inBrief);
  if (step.text) parts.push(sentence(step.text[0].toUpperCase() + step.text.slice(1)));
  if (changes.length) parts.push(`Changed ${changes.join("; ")}.`);
  return parts.join(" ");
}

function sentence(text) {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function doing(run, step) {
  const name = run.names[step.site];
  const message = run.messages.get(step.message);
  if (step.what === "deliver" && message) return `${name} receives ${showMessage(message)} from ${run.names[message.from]}`;
  if (step.what === "lose" && message) return `${showMessage(message)} from ${run.names[message.from]} to ${run.names[message.to]} is lost`;
  if (step.what === "duplicate" && message) return `${showMessage(message)} from ${run.names[message.from]} to ${run.names[message.to]} is duplicated`;
  if (step.what === "timeout") return `${name}'s timer ${step.timer} runs out`;
  const known = DOINGS[step.what];
  return typeof known === "function" ? known(name) : known || `${name}: ${step.what}`;
}

function consequences(run, step) {
  const clauses = [];
  const byText = new Map();
  for (const sent of step.sent || []) {
    const text = showMessage(sent);
    byText.set(text, [...(byText.get(text) || []), run.names[sent.to]]);
  }
  for (const [text, to] of byText) clauses.push(`sends ${text} to ${list(to)}`);
  if (step.enter) clauses.push(step.fence === undefined ? "enters" : `enters with fence ${step.fence}`);
  if (step.chose !== undefined) clauses.push(`had chosen ${show(step.chose)}`);
  return clauses.length ? `, ${list(clauses)}` : "";
}

/** The fields that a step changed, with their values before and after. */
function changed(run, n) {
  const step = run.steps[n];
  if (!step.changed || n === 0) return [];
  const before = run.stateAt(n - 1).fields[step.site];
  return Object.entries(step.changed).map(([name, after]) => ({ name, was: before[name], is: after, before: show(before[name]), after: show(after) }));
}

/** Of a long list that kept its length only the places that changed, where they are few. */
function inBrief({ name, was, is, before, after }) {
  const whole = [`${name}: ${before} → ${after}`];
  if (!Array.isArray(was) || !Array.isArray(is) || was.length !== is.length || is.length < LONG) return whole;
  const [old, now] = [was.map(show), is.map(show)];
  const places = now.flatMap((value, i) => (value === old[i] ? [] : [`${name}[${i}]: ${old[i]} → ${value}`]));
  return places.length <= FEW_PLACES ? places : whole;
}

/** The tables "Paper name, here, meaning" at the heads of an algorithm's files: names and meanings by field. */
function paperNames(files) {
  const names = new Map();
  for (const { text } of files) readNames(text.split("\n"), names);
  return names;
}

function readNames(rows, names) {
  const head = rows.findIndex((row) => /^Paper name\s+here/.test(row));
  if (head < 0) return;
  const here = rows[head].indexOf("here");
  const meaning = rows[head].indexOf("meaning");
  for (const row of rows.slice(head + 1)) {
    if (!row.trim()) break;
    const paper = row.slice(0, here).trim();
    const ours = (meaning > 0 ? row.slice(here, meaning) : row.slice(here)).replace(/\(.*/, "").split(",");
    const theirs = paper.split(",");
    ours.map((each) => each.trim().replace(/\[.*/, "")).forEach((field, i) => {
      const name = theirs.length === ours.length ? theirs[i].trim() : paper;
      if (field && !names.has(field)) names.set(field, { paper: name, meaning: meaning > 0 ? row.slice(meaning).trim() : "" });
    });
  }
}

/** The steps that a search finds: a kind of message or event, a link as 3>1, a site by its name; in any order. */
function search(run, query) {
  const words = query.trim().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const tests = words.map((word) => wanted(run, word));
  const found = [];
  run.steps.forEach((step, n) => {
    const delivered = run.messages.get(step.message);
    const facts = [...(delivered ? [delivered] : []), ...(step.sent || []).map((sent) => run.messages.get(sent.id))];
    const events = facts.length ? facts : [null];
    if (events.some((message) => tests.every((test) => test(step, message)))) found.push(n);
  });
  return found;
}

function wanted(run, word) {
  const link = /^(\S+?)(?:>|->|→)(\S+)$/.exec(word);
  const site = (text) => run.names.indexOf(text);
  if (link) return (step, message) => message && message.from === site(link[1]) && message.to === site(link[2]);
  if (site(word) >= 0) return (step) => step.site === site(word);
  const lower = word.toLowerCase();
  const does = (step) => [step.what, step.enter && "enter", step.exit && "exit", step.timer].filter(Boolean);
  return (step, message) =>
    (message && showMessage(message).toLowerCase().startsWith(lower)) ||
    does(step).some((each) => each.toLowerCase().startsWith(lower));
}

// The position in the fragment of the address, so that a link leads to exactly this moment and selection. Words of
// the fragment that this page does not know, such as those of play mode, are left as they are.


const OWN = ["step", "select", "site", "axis", "run", "hide", "without", "q", "closed"];

class Address {
  constructor(player, page) {
    this.player = player;
    this.page = page;
    this.pending = null;
    window.addEventListener("hashchange", () => location.hash !== this.written && this.read(), { signal: page.gone.signal });
    page.gone.signal.addEventListener("abort", () => clearTimeout(this.pending));
  }

  read() {
    const words = new URLSearchParams(location.hash.slice(1));
    const { player } = this;
    const number = (name) => (/^\d+$/.test(words.get(name) || "") ? Number(words.get(name)) : null);
    const names = (name) => (words.get(name) || "").split(",").filter(Boolean);
    player.active = Math.min(number("run") || 0, player.runs.length - 1);
    player.axis = words.get("axis") === "time" && player.run.hasTime ? "time" : "step";
    player.lay();
    player.hiddenKinds = new Set(names("hide"));
    player.hiddenSites = new Set(names("without").map(Number));
    player.query = words.get("q") || "";
    player.found = search(player.run, player.query);
    const site = number("site");
    player.site = site !== null && site < player.run.nodes ? site : null;
    const selected = number("select");
    const valid = selected !== null && selected < player.run.length;
    player.selected = valid ? { run: player.active, step: selected } : null;
    const step = number("step");
    player.go(player.momentOf(player.active, Math.min(step || 0, player.run.length - 1)), { glide: false });
    this.page.closePanels(names("closed"));
    player.touch();
  }

  /** Written when things have been still for a moment: browsers do not like an address that changes every frame. */
  draw() {
    const { player } = this;
    const key = `${player.at()}:${player.version}:${player.active}`;
    if (key === this.drawn) return false;
    this.drawn = key;
    clearTimeout(this.pending);
    this.pending = setTimeout(() => this.write(), 250);
    return false;
  }

  write() {
    const { player } = this;
    const words = new URLSearchParams(location.hash.slice(1));
    for (const name of OWN) words.delete(name);
    const set = (name, value) => value && words.set(name, value);
    set("step", String(player.at()));
    set("select", player.selected ? String(player.selected.step) : "");
    set("site", player.site === null ? "" : String(player.site));
    set("axis", player.axis === "time" ? "time" : "");
    set("run", player.active ? String(player.active) : "");
    set("hide", [...player.hiddenKinds].join(","));
    set("without", [...player.hiddenSites].join(","));
    set("q", player.query);
    set("closed", this.page.closed.join(","));
    this.written = `#${words.toString().replaceAll("%2C", ",")}`;
    history.replaceState(null, "", this.written);
  }
}

// Elements in one call, so that the other modules say what they show and not how it is put together.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "path", "circle", "line", "text", "title", "rect", "defs", "marker", "polygon"]);

/** An element with attributes and children. `on…` are listeners, null and false leave an attribute out. */
function el(tag, attributes = {}, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG_NAMESPACE, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  for (const child of children.flat()) if (child !== null && child !== undefined) element.append(child);
  return element;
}

function setAttribute(element, name, value) {
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (value === true) element.setAttribute(name, "");
  else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
}

/** Sets the text of an element only where it differs: a frame that changes nothing costs no layout. */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Makes `parent` hold exactly these children. */
function fill(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** As `fill`. Whoever was on one of its buttons is on the one in that place afterwards, or on `parent` while it has none. */
function refill(parent, ...children) {
  const buttons = () => [...parent.querySelectorAll("button, summary")].filter((each) => each.tagName === "SUMMARY" || !each.closest("details:not([open])"));
  const place = parent === document.activeElement ? 0 : buttons().indexOf(document.activeElement);
  fill(parent, ...children);
  if (place < 0) return;
  const left = buttons();
  (left[Math.min(place, left.length - 1)] || parent).focus({ preventScroll: true });
}

/** Makes `old` look like `fresh` by changing only what differs: what is selected, scrolled or focused in it stays. */
function become(old, fresh) {
  if (old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
  if (old.nodeType === Node.TEXT_NODE) return setText(old, fresh.data);
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const [mine, wanted] = [[...old.childNodes], [...fresh.childNodes]];
  for (const child of mine.slice(wanted.length)) child.remove();
  wanted.forEach((child, i) => (mine[i] ? become(mine[i], child) : old.append(child)));
  return undefined;
}

function clamp(value, least, most) {
  return Math.max(least, Math.min(most, value));
}

// How things look: a colour and a shape for each kind of message, both told apart without the other, and the
// colours of the page's own style sheet for what is drawn on canvas.

const SHAPES = ["circle", "square", "triangle", "diamond", "pentagon", "star", "bar", "hexagon"];

/** The place of a kind in palette and shapes: the order in which kinds first appear in the runs. */
class Look {
  constructor(runs) {
    this.kinds = [...new Set(runs.flatMap((run) => run.kinds))];
    this.read();
  }

  /** Reads the colours of the style sheet, again whenever the theme has changed. */
  read() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.palette = SHAPES.map((_, i) => colour(`--kind-${i}`));
    for (const name of ["ink", "soft", "faint", "line", "ground", "inside", "waiting", "bad", "playhead", "down", "token"]) {
      this[name] = colour(`--${name}`);
    }
  }

  /** A kind that is new, as in play mode, comes after those that are known. */
  number(kind) {
    if (!this.kinds.includes(kind)) this.kinds.push(kind);
    return this.kinds.indexOf(kind);
  }

  colour(kind) {
    return this.palette[this.number(kind) % this.palette.length];
  }

  shape(kind) {
    return SHAPES[this.number(kind) % SHAPES.length];
  }

  /** Beyond eight kinds colours come again, with another dash. */
  dash(kind) {
    return [[], [7, 3], [2, 3]][Math.floor(this.number(kind) / SHAPES.length) % 3];
  }
}

/** The corners of a shape around a point; none for a circle. */
function corners(shape, x, y, r) {
  const around = (count, turn, radius = () => r) =>
    Array.from({ length: count }, (_, i) => {
      const angle = turn + (2 * Math.PI * i) / count;
      return [x + radius(i) * Math.cos(angle), y + radius(i) * Math.sin(angle)];
    });
  switch (shape) {
    case "square":
      return [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([a, b]) => [x + 0.85 * r * a, y + 0.85 * r * b]);
    case "triangle":
      return around(3, -Math.PI / 2, () => 1.2 * r);
    case "diamond":
      return around(4, 0, () => 1.15 * r);
    case "pentagon":
      return around(5, -Math.PI / 2);
    case "star":
      return around(10, -Math.PI / 2, (i) => (i % 2 ? 0.5 * r : 1.25 * r));
    case "bar":
      return [[-0.45, -1.2], [0.45, -1.2], [0.45, 1.2], [-0.45, 1.2]].map(([a, b]) => [x + r * a, y + r * b]);
    case "hexagon":
      return around(6, 0);
    default:
      return [];
  }
}

/** The shape as the data of an SVG path. */
function shapePath(shape, r) {
  const points = corners(shape, 0, 0, r);
  if (points.length === 0) return `M ${-r} 0 a ${r} ${r} 0 1 0 ${2 * r} 0 a ${r} ${r} 0 1 0 ${-2 * r} 0 Z`;
  return `M ${points.map((point) => point.map((each) => each.toFixed(2)).join(" ")).join(" L ")} Z`;
}

/** The shape as a path on a canvas. */
function traceShape(context, shape, x, y, r) {
  context.beginPath();
  const points = corners(shape, x, y, r);
  if (points.length === 0) context.arc(x, y, r, 0, 2 * Math.PI);
  points.forEach(([px, py], i) => (i ? context.lineTo(px, py) : context.moveTo(px, py)));
  context.closePath();
}

// The row of filters, which is also the legend: kinds of messages and sites, each a button, and the search.


const MOST_SITES = 40;

class Filters {
  constructor(player, look) {
    this.player = player;
    this.look = look;
    this.kinds = el("div", { class: "chips", role: "group", "aria-label": "Kinds of messages" });
    this.sites = el("div", { class: "chips", role: "group", "aria-label": "Sites" });
    this.box = el("input", { type: "search", id: "search", placeholder: "search: Request 3>1", "aria-label": "Search for events: a kind, a link as 3>1, a site", oninput: () => this.find(), onkeydown: (event) => this.key(event) });
    this.count = el("output", { class: "count" });
    this.element = el("section", { class: "filters", "aria-label": "Filters and search" }, this.kinds, this.sites, el("div", { class: "search" }, this.box, this.count));
  }

  draw() {
    const { player } = this;
    const key = [player.active, ...player.hiddenKinds, "|", ...player.hiddenSites, "|", player.query, player.found.length, this.look.kinds.length, this.look.ink].join();
    if (key === this.drawn) return false;
    this.drawn = key;
    fill(this.kinds, ...this.look.kinds.map((kind) => this.kindChip(kind)));
    const many = player.run.nodes > MOST_SITES;
    fill(this.sites, ...(many ? [] : player.run.names.map((name, site) => this.siteChip(name, site))));
    setText(this.count, player.query ? `${player.found.length} found` : "");
    if (this.box.value !== player.query && document.activeElement !== this.box) this.box.value = player.query;
    return false;
  }

  kindChip(kind) {
    const { look, player } = this;
    const bullet = el("svg", { class: "bullet", viewBox: "-8 -8 16 16", "aria-hidden": "true" }, el("path", { d: shapePath(look.shape(kind), 6), fill: look.colour(kind) }));
    return this.chip([bullet, kind], player.hiddenKinds, kind, `Show ${kind}`);
  }

  siteChip(name, site) {
    return this.chip([name], this.player.hiddenSites, site, `Show site ${name}`);
  }

  chip(content, hidden, value, label) {
    const toggle = () => {
      if (!hidden.delete(value)) hidden.add(value);
      this.player.touch();
      this.draw();
      this.element.querySelector(`[data-value="${CSS.escape(String(value))}"]`)?.focus();
    };
    return el("button", { class: "chip", "aria-pressed": String(!hidden.has(value)), "aria-label": label, title: label, "data-value": String(value), onclick: toggle }, ...content);
  }

  find() {
    const { player } = this;
    player.query = this.box.value;
    player.found = search(player.run, player.query);
    player.touch();
  }

  key(event) {
    if (event.key === "Enter") this.player.hop(this.player.found, event.shiftKey ? -1 : 1);
    if (event.key === "Escape") this.box.blur();
  }
}

// A trace of version 2, made ready for looking: messages know both their ends, the state at any step is a fold
// from the key frame before it, and causality is program order plus messages.

const FRAME_EVERY = 200;
const MOST_NODES = 10000;
const SELF = 3;
const PAST = 1;
const FUTURE = 2;

/** What is wrong with a trace, in one line for whoever looks at the page. */
class TraceError extends Error {}

/** The runs of what a page was given: one, or two where another is set beside it. */
function readRuns(data) {
  if (data === null || typeof data !== "object") throw new TraceError("this is no trace: an object with head and steps was expected");
  const other = data.beside || (data.head && data.head.beside);
  return [data, other].filter(Boolean).map(({ head, steps }) => new Run(head, steps));
}

/** The same objects, one a line, as `soloist watch --export jsonl` writes them. */
function parseLines(text) {
  const rows = text.split("\n").filter((line) => line.trim());
  const objects = rows.map((row, i) => {
    try {
      return JSON.parse(row);
    } catch {
      throw new TraceError(`line ${i + 1} is no JSON: ${row.slice(0, 60)}`);
    }
  });
  return { head: objects[0], steps: objects.slice(1) };
}

function checkHead(head) {
  if (!head || head.soloist !== "trace") throw new TraceError('this is no trace of Soloist: its head has no "soloist": "trace"');
  if (head.version !== 2) throw new TraceError(`this trace has version ${head.version}; this page reads version 2`);
  if (!Number.isInteger(head.nodes) || head.nodes < 1) throw new TraceError(`this trace has no number of nodes, but ${head.nodes}`);
  if (head.nodes > MOST_NODES) throw new TraceError(`this trace has ${head.nodes} nodes; this page shows ${MOST_NODES} at most`);
}

/** The structure is of these sites. */
function checkStage({ edges, quorums }, nodes) {
  for (const site of [...(edges || []), ...(quorums || [])].flat()) {
    if (!(Number.isInteger(site) && site >= 0 && site < nodes)) throw new TraceError(`the stage of this trace has site ${site}; sites are 0 to ${nodes - 1}`);
  }
}

function checkStep(step, index, nodes) {
  if (!step || typeof step.what !== "string") throw new TraceError(`step ${index} does not say what happened`);
  const site = step.site;
  if (site !== undefined && site !== null && !(Number.isInteger(site) && site >= 0 && site < nodes)) {
    throw new TraceError(`step ${index} is at site ${site}; sites are 0 to ${nodes - 1}`);
  }
}

class Run {
  constructor(head, steps) {
    checkHead(head);
    if (!Array.isArray(steps) || steps.length === 0) throw new TraceError("this trace has a head, but no steps");
    this.head = head;
    this.nodes = head.nodes;
    this.names = Array.from({ length: head.nodes }, (_, i) => (head.sites && head.sites[i]) || String(i));
    this.files = [head.source, ...(head.files || [])].filter(Boolean);
    this.stage = { layout: "circle", edges: [], quorums: null, pointers: [], token: null, queue: null, ...head.stage };
    checkStage(this.stage, this.nodes);
    this.replace(steps);
  }

  /** Other steps of the same system, as they come from a server: all is indexed anew, which takes some milliseconds. */
  replace(steps) {
    steps.forEach((step, n) => checkStep(step, n, this.nodes));
    this.steps = steps;
    this.edition = (this.edition || 0) + 1;
    this.#clear();
    this.#index();
  }

  #clear() {
    this.messages = new Map();
    this.kinds = [];
    this.fields = [];
    this.frames = [];
    this.entries = [];
    this.tooMany = [];
    this.ofSite = Array.from({ length: this.nodes }, () => []);
    this.spans = Array.from({ length: this.nodes }, () => []);
    this.buckets = [];
    this.cached = null;
  }

  get length() {
    return this.steps.length;
  }

  /** Where a step lies on an axis: its number, or its time. */
  place(n, axis) {
    return axis === "time" ? this.times[n] : n;
  }

  #index() {
    this.#readTimes();
    this.steps.forEach((step, n) => this.#readMessages(step, n));
    this.#loseMailOfCrashed();
    this.kinds = [...new Set([...this.messages.values()].map((message) => message.kind))];
    this.#readStates();
    for (const message of this.messages.values()) this.#putIntoBuckets(message);
  }

  #readTimes() {
    let last = 0;
    this.times = Float64Array.from(this.steps, (step) => (last = Math.max(last, Number.isFinite(step.t) ? step.t : last)));
    this.hasTime = this.head.unit !== "steps" && this.times[this.length - 1] > this.times[0];
  }

  #readMessages(step, n) {
    for (const sent of step.sent || []) {
      this.messages.set(sent.id, { ...sent, from: step.site, sent: n, end: null, lost: false, copyOf: null });
    }
    const message = step.message === undefined ? undefined : this.messages.get(step.message);
    if (step.message !== undefined && step.message !== null && !message) {
      throw new TraceError(`step ${n} speaks of message ${step.message}, which nobody has sent`);
    }
    if (step.what === "duplicate" && message && step.copy !== undefined) {
      this.messages.set(step.copy, { ...message, id: step.copy, sent: n, end: null, lost: false, copyOf: message.id });
    } else if (message && (step.what === "deliver" || step.what === "lose")) {
      message.end = n;
      message.lost = step.what === "lose";
    }
  }

  /** Mail that was on its way to a site when it crashed, and that nobody ever got, ended there. */
  #loseMailOfCrashed() {
    const crashes = Array.from({ length: this.nodes }, () => []);
    this.steps.forEach((step, n) => step.what === "crash" && crashes[step.site].push(n));
    for (const message of this.messages.values()) {
      if (message.end !== null) continue;
      const crash = (crashes[message.to] || []).find((n) => n > message.sent);
      if (crash !== undefined) Object.assign(message, { end: crash, lost: true });
    }
  }

  #readStates() {
    const frame = emptyFrame(this.nodes);
    const fields = new Set();
    const open = new Array(this.nodes).fill(null);
    this.steps.forEach((step, n) => {
      applyStep(frame, step);
      if (n % FRAME_EVERY === 0) this.frames.push(copyFrame(frame));
      for (const state of [step.changed, ...Object.values(step.states || {})]) for (const name in state) fields.add(name);
      if (step.enter) this.entries.push(n);
      if (insideOf(frame).length > (this.head.k || 1)) this.tooMany.push(n);
      if (siteOf(step) !== null) {
        this.ofSite[step.site].push(n);
        this.#openSpan(open, frame, step.site, n);
      }
    });
    this.fields = [...fields];
    open.forEach((span) => span && (span.to = this.length));
  }

  #openSpan(open, frame, site, n) {
    const is = frame.up[site] === "up" ? frame.phase[site] : frame.up[site];
    if (open[site] && open[site].is === is) return;
    if (open[site]) open[site].to = n;
    open[site] = is === "idle" ? null : { is, from: n, to: this.length };
    if (open[site]) this.spans[site].push(open[site]);
  }

  #putIntoBuckets(message) {
    const last = Math.floor((message.end === null ? this.length : message.end) / FRAME_EVERY);
    for (let bucket = Math.floor(message.sent / FRAME_EVERY); bucket <= last; bucket++) {
      (this.buckets[bucket] = this.buckets[bucket] || []).push(message);
    }
  }

  /** Messages that are on their way at some moment between two steps. */
  between(from, to) {
    const found = new Set();
    const first = Math.max(0, Math.floor(from / FRAME_EVERY));
    for (let bucket = first; bucket <= Math.floor(to / FRAME_EVERY); bucket++) {
      for (const message of this.buckets[bucket] || []) {
        if (message.sent <= to && (message.end === null || message.end >= from)) found.add(message);
      }
    }
    return [...found];
  }

  /** Messages that are on their way after step n. */
  inFlight(n) {
    return this.between(n, n).filter((message) => message.end === null || message.end > n);
  }

  /** Fields, phase, health, reason and timers of every site after step n. */
  stateAt(n) {
    if (this.cached && this.cached.n === n) return this.cached.frame;
    const near = this.cached && this.cached.n < n && n - this.cached.n < FRAME_EVERY;
    const base = Math.floor(n / FRAME_EVERY);
    const frame = copyFrame(near ? this.cached.frame : this.frames[base]);
    for (let i = near ? this.cached.n + 1 : base * FRAME_EVERY + 1; i <= n; i++) applyStep(frame, this.steps[i]);
    this.cached = { n, frame };
    return frame;
  }

  /** The other end of the message of this step: where it came from, or where the first that it sent arrived. */
  otherEnd(n) {
    const step = this.steps[n];
    const got = this.messages.get(step.message);
    if (got) return got.sent;
    const ends = (step.sent || []).map((sent) => this.messages.get(sent.id).end).filter((end) => end !== null);
    return ends.length ? Math.min(...ends) : null;
  }

  /** For every step whether it is in the causal past or future of step n: one sweep back and one forth. */
  cone(n) {
    const marks = new Uint8Array(this.length);
    const until = new Int32Array(this.nodes).fill(-1);
    const since = new Int32Array(this.nodes).fill(this.length);
    marks[n] = SELF;
    this.#sweepBack(n, marks, until);
    this.#sweepForth(n, marks, since);
    return marks;
  }

  #sweepBack(n, marks, until) {
    for (let i = n; i >= 0; i--) {
      const step = this.steps[i];
      const inside = i === n || (Number.isInteger(step.site) && i <= until[step.site]);
      if (!inside) continue;
      marks[i] |= PAST;
      if (Number.isInteger(step.site)) until[step.site] = Math.max(until[step.site], i - 1);
      const message = step.what === "deliver" ? this.messages.get(step.message) : null;
      if (message) until[this.steps[message.sent].site] = Math.max(until[this.steps[message.sent].site], message.sent);
    }
  }

  #sweepForth(n, marks, since) {
    for (let i = n; i < this.length; i++) {
      const step = this.steps[i];
      const inside = i === n || (Number.isInteger(step.site) && i >= since[step.site]);
      if (!inside) continue;
      marks[i] |= FUTURE;
      if (Number.isInteger(step.site)) since[step.site] = Math.min(since[step.site], i + 1);
      for (const sent of step.sent || []) {
        const { end, lost, to } = this.messages.get(sent.id);
        if (end !== null && !lost) since[to] = Math.min(since[to], end);
      }
    }
  }
}

function emptyFrame(nodes) {
  const each = (value) => new Array(nodes).fill(value);
  return { fields: each({}), phase: each("idle"), up: each("up"), why: each(null), timers: each({}) };
}

function copyFrame(frame) {
  return Object.fromEntries(Object.entries(frame).map(([name, values]) => [name, values.slice()]));
}

const ABOUT_ALL = new Set(["note", "cut", "heal"]);

/** Where a step happens; null for what is about all sites. */
function siteOf({ site, what }) {
  return Number.isInteger(site) && !ABOUT_ALL.has(what) ? site : null;
}

/** Who has crashed inside is not inside. */
function insideOf({ phase, up }) {
  return phase.flatMap((each, site) => (each === "inside" && up[site] !== "down" ? [site] : []));
}

const HEALTH = { crash: "down", restart: "up", pause: "paused", resume: "up" };

function applyStep(frame, step) {
  for (const [site, fields] of Object.entries(step.states || {})) frame.fields[site] = fields;
  for (const [site, why] of Object.entries(step.why || {})) frame.why[site] = why;
  const site = step.site;
  if (!Number.isInteger(site)) return;
  if (step.changed) frame.fields[site] = { ...frame.fields[site], ...step.changed };
  if (step.what in HEALTH) frame.up[site] = HEALTH[step.what];
  frame.phase[site] = step.phase || phaseAfter(step, frame.phase[site]);
  if (step.timers) {
    const running = { ...frame.timers[site], ...step.timers.set };
    for (const name of step.timers.off || []) delete running[name];
    frame.timers[site] = running;
  }
  if (step.what === "timeout" && !(step.timers && step.timers.set && step.timer in step.timers.set)) {
    const { [step.timer]: _, ...left } = frame.timers[site];
    frame.timers[site] = left;
  }
}

function phaseAfter(step, before) {
  if (step.enter) return "inside";
  if (step.exit || step.what === "release") return "idle";
  return step.what === "request" ? "waiting" : before;
}

// The inspector: what this step did in words, every site's variables under the paper's names with changes marked,
// why each waiting site waits, and what is on its way.


const MOST_ROWS = 12;
const MOST_LISTED = 40;

class Inspector {
  constructor(player, look) {
    this.player = player;
    this.look = look;
    this.sentence = el("p", { class: "sentence", id: "sentence" });
    this.table = el("div", { class: "scroll-x" });
    this.waiting = el("ul", { class: "waiting", "aria-label": "Who waits, and why" });
    this.flying = el("ul", { class: "flying", "aria-label": "Messages on their way" });
    this.flyingTitle = el("h3", {}, "On their way");
    this.live = el("p", { class: "unseen", "aria-live": "polite" });
    this.element = el("div", { class: "inspector" }, this.sentence,
      el("div", { class: "columns" }, this.table,
        el("div", { class: "lists" }, el("h3", {}, "Waiting"), this.waiting, this.flyingTitle, this.flying)),
      this.live);
    this.cells = new Map();
  }

  /** All sites where they are few; else those that were picked, act now, or have something to do with it. */
  sitesShown(run, n) {
    const all = Array.from({ length: run.nodes }, (_, site) => site).filter((site) => !this.player.hiddenSites.has(site));
    if (all.length <= MOST_ROWS) return all;
    const state = run.stateAt(n);
    const weight = (site) => 4 * (site === this.player.site) + 3 * (site === run.steps[n].site) + 2 * (state.phase[site] === "inside") + (state.phase[site] === "waiting");
    return all.sort((a, b) => weight(b) - weight(a) || a - b).slice(0, MOST_ROWS).sort((a, b) => a - b);
  }

  draw() {
    const { player } = this;
    const [run, n] = [player.run, player.at()];
    const key = `${player.active}:${n}:${player.version}:${run.edition}`;
    if (key === this.drawn) return false;
    this.drawn = key;
    const text = describe(run, n);
    setText(this.sentence, `Step ${n}${run.hasTime ? `, ${this.time(run, n)}` : ""}. ${text}`);
    if (!player.playing) setText(this.live, `Step ${n}. ${text}`);
    this.drawTable(run, n);
    this.drawWaiting(run, n);
    this.drawFlying(run, n);
    return false;
  }

  time(run, n) {
    return `t = ${+run.times[n].toPrecision(7)}${run.head.unit === "s" ? " s" : ""}`;
  }

  drawTable(run, n) {
    const sites = this.sitesShown(run, n);
    const shape = `${this.player.active}:${sites.join()}:${run.fields.length}`;
    if (shape !== this.shape) this.buildTable(run, sites);
    this.shape = shape;
    const state = run.stateAt(n);
    const before = new Map(changed(run, n).map(({ name, before: value }) => [name, value]));
    const acting = siteOf(run.steps[n]);
    for (const [site, row] of this.cells) {
      const phase = state.up[site] === "up" ? state.phase[site] : state.up[site];
      row.element.className = `${phase}${site === acting ? " acting" : ""}${site === this.player.site ? " picked" : ""}`;
      setText(row.phase, phase);
      for (const [name, cell] of row.fields) {
        const value = show(state.fields[site][name]);
        setText(cell, value);
        const isNew = site === acting && before.has(name);
        cell.className = isNew ? "changed" : "";
        cell.title = isNew ? `was ${before.get(name)}` : value;
      }
    }
  }

  buildTable(run, sites) {
    const names = paperNames(run.files);
    const heading = (field) => {
      const known = names.get(field);
      const label = known && /^\S{1,30}$/.test(known.paper) ? known.paper : field;
      const title = known ? [known.paper, known.meaning].filter(Boolean).join(": ") : field;
      return el("th", { scope: "col", title }, label, label.replace(/\[.*/, "") === field ? null : el("small", {}, field));
    };
    this.cells = new Map();
    const rows = sites.map((site) => {
      const fields = new Map(run.fields.map((field) => [field, el("td")]));
      const phase = el("td", { class: "phase" });
      const pick = el("button", { class: "plain", onclick: () => this.pick(site) }, numbered(run, site));
      const element = el("tr", {}, el("th", { scope: "row" }, pick), phase, ...fields.values());
      this.cells.set(site, { element, phase, fields });
      return element;
    });
    const left = run.nodes - sites.length;
    refill(this.table, el("table", {},
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "site"), el("th", { scope: "col" }, "is"), ...run.fields.map(heading))),
      el("tbody", {}, ...rows)),
      left ? el("p", { class: "more" }, `${left} more sites: pick one in the score or on the stage.`) : null);
  }

  pick(site) {
    this.player.site = this.player.site === site ? null : site;
    this.player.touch();
  }

  drawWaiting(run, n) {
    const state = run.stateAt(n);
    const rows = [];
    state.phase.forEach((phase, site) => {
      if (phase !== "waiting" && !state.why[site]) return;
      rows.push(el("li", {}, el("b", {}, numbered(run, site)), ` ${state.why[site] || "waits"}`));
    });
    const timers = state.timers.flatMap((running, site) => Object.keys(running).map((name) => el("li", {}, el("b", {}, run.names[site]), ` timer ${name} is running`)));
    fill(this.waiting, ...capped([...rows, ...timers], "nobody waits"));
  }

  drawFlying(run, n) {
    const { player, look } = this;
    const about = (message) => player.site === null || message.from === player.site || message.to === player.site;
    const flying = run.inFlight(n).filter((message) => player.shows(message) && about(message));
    setText(this.flyingTitle, `On their way${player.site === null ? "" : `, to and from ${run.names[player.site]}`}: ${flying.length}`);
    refill(this.flying, ...capped(flying.map((message) =>
      el("li", {}, el("button", { class: "plain", title: `sent in step ${message.sent}`, onclick: () => player.select(player.active, message.sent) },
        el("svg", { class: "bullet", viewBox: "-7 -7 14 14", "aria-hidden": "true" }, el("path", { d: shapePath(look.shape(message.kind), 5), fill: look.colour(message.kind) })),
        `${run.names[message.from]} → ${run.names[message.to]}  ${showMessage(message)}`))), "nothing"));
  }
}

/** A site with a name has its number beside it: variables and reasons have numbers. */
function numbered(run, site) {
  return run.names[site] === String(site) ? run.names[site] : `${run.names[site]} (${site})`;
}

function capped(rows, none) {
  if (rows.length === 0) return [el("li", { class: "none" }, none)];
  if (rows.length <= MOST_LISTED) return rows;
  return [...rows.slice(0, MOST_LISTED), el("li", { class: "none" }, `and ${rows.length - MOST_LISTED} more`)];
}

// What all views share: the runs, the playhead, what is selected and hidden. Views are told once a frame.


const SPEEDS = [0.5, 1, 2, 4, 8, 16, 60];
const GLIDE = 260;

class Player {
  constructor(runs) {
    this.runs = runs;
    this.active = 0;
    this.axis = "step";
    this.moment = 0;
    this.position = 0;
    this.speed = 2;
    this.playing = false;
    this.selected = null;
    this.site = null;
    this.hiddenKinds = new Set();
    this.hiddenSites = new Set();
    this.found = [];
    this.game = null;
    this.query = "";
    this.motion = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.views = [];
    this.frame = null;
    this.glide = null;
    this.cones = new Map();
    this.version = 0;
    this.lay();
  }

  get run() {
    return this.runs[this.active];
  }

  /** The moments that the playhead can be at. By step: the n-th step of each run; by time: every step of any run. */
  lay() {
    const last = Math.max(...this.runs.map((run) => run.length)) - 1;
    if (this.axis === "step" || this.runs.length === 1) {
      this.moments = null;
      this.last = last;
      return;
    }
    const all = this.runs.flatMap((run, r) => Array.from(run.times, (t, n) => ({ t, r, n })));
    all.sort((a, b) => a.t - b.t || a.n - b.n);
    const at = this.runs.map(() => 0);
    this.moments = all.map(({ r, n, t }) => {
      at[r] = n;
      return { at: at.slice(), t };
    });
    this.last = this.moments.length - 1;
  }

  /** The step that a run is at. */
  at(r = this.active) {
    if (this.moments) return this.moments[this.moment].at[r];
    return Math.min(this.moment, this.runs[r].length - 1);
  }

  /** The moment at which a run reaches a step. */
  momentOf(r, n) {
    return this.moments ? this.moments.findIndex((moment) => moment.at[r] >= n) : n;
  }

  /** Where the playhead is on the axis of a run, also between two steps while it glides. */
  place(r, position = this.position) {
    const low = clamp(Math.floor(position), 0, this.last);
    const high = Math.min(low + 1, this.last);
    const value = (moment) => {
      if (this.moments) return this.moments[moment].t;
      const run = this.runs[r];
      return this.axis === "time" ? run.times[Math.min(moment, run.length - 1)] : moment;
    };
    return value(low) + (value(high) - value(low)) * (position - low);
  }

  go(moment, { glide = true } = {}) {
    const target = clamp(Math.round(moment), 0, this.last);
    const near = Math.abs(target - this.position) <= 1.01;
    this.moment = target;
    this.glide = glide && near && this.motion ? { from: this.position, began: performance.now(), takes: this.glideTime() } : null;
    if (!this.glide) this.position = target;
    this.changed();
  }

  glideTime() {
    return this.playing ? Math.min(900, 1000 / this.speed) : GLIDE;
  }

  /** Goes to a step of a run, which becomes the one that inspector and source are about. */
  goTo(r, n) {
    this.active = r;
    this.go(this.momentOf(r, n));
  }

  step(by) {
    this.pause();
    this.go(this.moment + by);
  }

  /** To the next step among `steps` of the active run, or the one before. */
  hop(steps, direction) {
    const here = this.at();
    const next = direction > 0 ? steps.find((n) => n > here) : steps.findLast((n) => n < here);
    this.pause();
    if (next !== undefined) this.goTo(this.active, next);
    return next !== undefined;
  }

  select(r, n) {
    this.selected = n === null ? null : { run: r, step: n };
    this.touch();
    if (n === null) return;
    const site = siteOf(this.runs[r].steps[n]);
    if (site !== null) this.site = site;
    this.pause();
    this.goTo(r, n);
  }

  /** Which steps are in the causal past and future of the selection; null where nothing is selected. */
  cone(r) {
    if (!this.selected || this.selected.run !== r) return null;
    const key = `${r}:${this.selected.step}:${this.runs[r].edition}`;
    if (!this.cones.has(key)) this.cones = new Map([[key, this.runs[r].cone(this.selected.step)]]);
    return this.cones.get(key);
  }

  shows(message) {
    return !this.hiddenKinds.has(message.kind) && !this.hiddenSites.has(message.from) && !this.hiddenSites.has(message.to);
  }

  play() {
    if (this.moment >= this.last) this.go(0, { glide: false });
    this.playing = true;
    this.due = performance.now() + 1000 / this.speed;
    this.changed();
  }

  pause() {
    this.playing = false;
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
    this.changed();
  }

  /** Something may look different: all views are asked to draw in the next frame, once. */
  changed() {
    if (this.frame === null) this.frame = requestAnimationFrame((now) => this.draw(now));
  }

  /** As `changed`, where something other than the playhead is different. */
  touch() {
    this.version += 1;
    this.changed();
  }

  draw(now) {
    this.frame = null;
    if (this.playing) this.playOn(now);
    if (this.glide) {
      const part = clamp((now - this.glide.began) / this.glide.takes, 0, 1);
      this.position = this.glide.from + (this.moment - this.glide.from) * part;
      if (part >= 1) this.glide = null;
    }
    let moving = this.playing || this.glide !== null;
    for (const view of this.views) moving = view.draw(now) || moving;
    if (moving) this.changed();
    if (!this.drawn) this.drawn = performance.mark("soloist-drawn");
  }

  playOn(now) {
    if (now < this.due) return;
    const steps = Math.max(1, Math.floor(((now - this.due) * this.speed) / 1000) + 1);
    this.due = Math.max(now, this.due + (steps * 1000) / this.speed);
    this.go(this.moment + steps);
    if (this.moment >= this.last) this.pause();
  }
}

// The transport: first, back, play, forward, last and speed; and the minimap of the whole run, which is the slider.


const EDGE = 8;
const ICONS = {
  first: "M1 1h2v12H1z M13 1v12L4 7z",
  back: "M11 1v12L2 7z",
  play: "M3 1v12l10-6z",
  pause: "M2 1h4v12H2z M8 1h4v12H8z",
  forward: "M3 1v12l9-6z",
  last: "M1 1v12l9-6z M11 1h2v12h-2z",
};

function icon(name) {
  return el("svg", { class: "icon", viewBox: "0 0 14 14", "aria-hidden": "true" }, el("path", { d: ICONS[name] }));
}

class Transport {
  constructor(player, look) {
    this.player = player;
    this.look = look;
    const button = (label, id, action) => el("button", { id, title: label, "aria-label": label, onclick: action }, icon(id));
    this.playButton = button("Play (space)", "play", () => player.toggle());
    this.where = el("output", { class: "where", id: "where" });
    this.speed = el("select", { "aria-label": "Speed, in steps a second", title: "Steps a second", onchange: (event) => this.setSpeed(event) },
      ...SPEEDS.map((each) => el("option", { value: String(each), selected: each === player.speed }, `${each}/s`)));
    this.axis = el("button", { id: "axis", onclick: () => toggleAxis(player) });
    this.map = el("canvas", { class: "minimap", tabindex: "0", role: "slider", "aria-label": "Step", "aria-valuemin": "0" });
    this.element = el("section", { class: "transport", "aria-label": "Playing" },
      el("div", { class: "buttons" },
        button("First step (Home)", "first", () => player.go(0)),
        button("Step back (←)", "back", () => player.step(-1)),
        this.playButton,
        button("Step forward (→)", "forward", () => player.step(1)),
        button("Last step (End)", "last", () => player.go(player.last)),
        this.speed, this.axis, this.where),
      el("div", { class: "map-frame" }, this.map));
    this.watch();
  }

  setSpeed(event) {
    this.player.speed = Number(event.target.value);
    this.player.touch();
  }

  watch() {
    const scrub = (event) => {
      if (event.buttons === 0) return;
      this.player.pause();
      const part = clamp((event.offsetX - EDGE) / (this.width - 2 * EDGE), 0, 1);
      this.player.go(part * this.player.last, { glide: false });
    };
    this.map.addEventListener("pointerdown", (event) => {
      this.map.setPointerCapture(event.pointerId);
      scrub(event);
    });
    this.map.addEventListener("pointermove", scrub);
    new ResizeObserver(() => {
      const { width, height } = this.map.parentElement.getBoundingClientRect();
      const ratio = window.devicePixelRatio || 1;
      Object.assign(this, { width, height, ratio, overview: null });
      this.map.width = Math.round(width * ratio);
      this.map.height = Math.round(height * ratio);
      this.drawn = null;
      this.player.changed();
    }).observe(this.map.parentElement);
  }

  draw() {
    const { player } = this;
    this.map.setAttribute("aria-valuemax", String(player.last));
    this.map.setAttribute("aria-valuenow", String(player.moment));
    this.map.setAttribute("aria-valuetext", `step ${player.at()} of ${player.run.length - 1}`);
    this.drawPlayButton();
    setText(this.axis, player.axis === "time" ? "by time" : "by step");
    this.axis.setAttribute("aria-label", `By ${player.axis}: change the axis (t)`);
    this.axis.hidden = !player.runs.some((run) => run.hasTime);
    setText(this.where, `${player.at()} / ${player.run.length - 1}`);
    if (this.width) this.drawMap();
    return false;
  }

  drawPlayButton() {
    const shows = this.player.playing ? "pause" : "play";
    if (this.shows === shows) return;
    this.shows = shows;
    this.playButton.setAttribute("aria-label", shows === "pause" ? "Pause (space)" : "Play (space)");
    this.playButton.replaceChildren(icon(shows));
  }

  drawMap() {
    const context = this.map.getContext("2d");
    const key = `${this.player.version}:${this.player.runs.map((run) => run.edition).join()}:${this.player.axis}`;
    if (!this.overview || this.overviewOf !== key) {
      this.overview = this.makeOverview();
      this.overviewOf = key;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.map.width, this.map.height);
    context.drawImage(this.overview, 0, 0);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const x = this.x(this.player.position);
    context.fillStyle = this.look.playhead;
    context.globalAlpha = 0.14;
    context.fillRect(EDGE, 0, x - EDGE, this.height);
    context.globalAlpha = 1;
    context.fillRect(x - 1.5, 0, 3, this.height);
  }

  x(moment) {
    return EDGE + (moment / Math.max(1, this.player.last)) * (this.width - 2 * EDGE);
  }

  /** Everything but the playhead, drawn once: a tick per entry, what the search found, and what is wrong. */
  makeOverview() {
    const canvas = document.createElement("canvas");
    canvas.width = this.map.width;
    canvas.height = this.map.height;
    const context = canvas.getContext("2d");
    context.scale(this.ratio, this.ratio);
    const { player, look } = this;
    const high = this.height / player.runs.length;
    context.fillStyle = look.line;
    context.fillRect(EDGE, this.height - 1, this.width - 2 * EDGE, 1);
    player.runs.forEach((run, r) => {
      const tick = (n, colour, top, bottom, wide) => {
        context.fillStyle = colour;
        context.fillRect(this.x(player.momentOf(r, n)) - wide / 2, high * (r + top), wide, high * (bottom - top));
      };
      run.entries.forEach((n) => tick(n, look.inside, 0.25, 0.95, run.entries.length > 400 ? 1 : 2));
      run.steps.forEach((step, n) => step.what === "crash" && tick(n, look.down, 0.1, 0.95, 3));
      if (r === player.active) player.found.forEach((n) => tick(n, look.playhead, 0, 0.3, 2));
      run.tooMany.forEach((n) => tick(n, look.bad, 0, 0.95, 3));
    });
    return canvas;
  }
}

/** By step or by time: where the playhead was it stays. */
function toggleAxis(player) {
  const n = player.at();
  player.axis = player.axis === "time" ? "step" : "time";
  player.lay();
  player.moment = Math.max(0, player.momentOf(player.active, n));
  player.position = player.moment;
  player.glide = null;
  player.touch();
}

// The keyboard, and the help that lists it.


const KEYS = [
  ["space", "play or pause"],
  ["← →", "a step back, a step forward"],
  ["shift ← →", "to the event before and after, of the picked site"],
  ["home, end", "first step, last step"],
  ["[ ]", "to the entry before and after"],
  ["s", "select this event: its causal past and future stay bright"],
  ["o", "to the other end of the message"],
  ["esc", "select nothing, pick no site"],
  ["/", "search; enter and shift-enter go through what was found"],
  ["+ − f", "zoom in, zoom out, all of the run"],
  ["↑ ↓", "pick the site above, below"],
  ["t", "by step or by time"],
  ["1 2 3 4 5", "close or open score, stage, inspector, source, play"],
  ["m", "motion on or off"],
  ["?", "this help"],
];

class Keys {
  constructor(player, page) {
    this.player = player;
    this.page = page;
    this.help = el("dialog", { class: "help", "aria-label": "Keys" },
      el("h2", {}, "Keys"),
      el("dl", {}, ...KEYS.flatMap(([key, text]) => [el("dt", {}, key), el("dd", {}, text)])),
      el("p", {}, "In the score: drag pans, ctrl and wheel zoom, a click on an event or message selects it, a click on a site's name picks it."),
      el("form", { method: "dialog" }, el("button", {}, "Close")));
    document.addEventListener("keydown", (event) => this.press(event), { signal: page.gone.signal });
  }

  press(event) {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    // Just after the help is closed its button still has the focus, though nobody sees it.
    const onButton = event.target.tagName === "BUTTON" && !this.help.contains(event.target) && (event.key === " " || event.key === "Enter");
    if (event.ctrlKey || event.metaKey || event.altKey || typing || onButton || this.help.open) return;
    const action = this.actions(event)[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  actions({ shiftKey }) {
    const { player, page } = this;
    const walk = (by) => () => (shiftKey ? this.alongSite(by) : player.step(by));
    return {
      " ": () => player.toggle(),
      ArrowLeft: walk(-1),
      ArrowRight: walk(1),
      ArrowUp: () => this.pickNext(-1),
      ArrowDown: () => this.pickNext(1),
      Home: () => player.go(0),
      End: () => player.go(player.last),
      "[": () => player.hop(player.run.entries, -1),
      "]": () => player.hop(player.run.entries, 1),
      s: () => player.select(player.active, player.at()),
      o: () => this.otherEnd(),
      Escape: () => this.clear(),
      "/": () => page.searchBox.focus(),
      "+": () => page.scores.forEach((score) => score.zoom(1.3)),
      "=": () => page.scores.forEach((score) => score.zoom(1.3)),
      "-": () => page.scores.forEach((score) => score.zoom(1 / 1.3)),
      f: () => page.fit(),
      t: () => toggleAxis(player),
      m: () => page.toggleMotion(),
      "?": () => this.help.showModal(),
      ...Object.fromEntries(page.panelNames.map((name, i) => [String(i + 1), () => page.togglePanel(name)])),
    };
  }

  alongSite(by) {
    const { player } = this;
    const site = player.site ?? player.run.steps[player.at()].site ?? 0;
    player.hop(player.run.ofSite[site], by);
  }

  pickNext(by) {
    const { player } = this;
    const { nodes } = player.run;
    player.site = player.site === null ? (by > 0 ? 0 : nodes - 1) : (player.site + by + nodes) % nodes;
    player.touch();
  }

  otherEnd() {
    const { player } = this;
    const r = player.selected ? player.selected.run : player.active;
    const end = player.runs[r].otherEnd(player.selected ? player.selected.step : player.at());
    if (end !== null) player.select(r, end);
  }

  clear() {
    this.player.site = null;
    this.player.select(this.player.active, null);
  }
}

// Play mode: the run is not over, and who looks decides what happens next. The page asks a server; these are the calls.
//
//   GET  api/run                                  {head, steps, play}: the run, and Play where one may play
//   POST api/act     {branch, at, action}         {steps, play}: the action (its id) done after step `at`; the steps of
//                                                 the whole branch are given back. Where `at` is not the last step of
//                                                 the branch, the answer is about a new branch that leaves it there
//   POST api/state   {branch, at}                 {play}: what is possible, and what holds, after an earlier step
//   POST api/branch  {branch}                     {steps, play}: another branch is shown
//   POST api/chance  {branch, at, steps, seed}    {steps, play}: some steps more, chosen by chance, none of them a fault
//   POST api/search  {branch, at, states, show}   {text, steps, play}: a bad run from here, as a new branch; where none
//                                                 was found, or `show` is false, `steps` is null; `text` says what was searched
//   POST api/hint    {branch, at}                 {text, action}: one step of a shortest bad run, or null
//   POST api/new     {algorithm, nodes, k, …}     {head, steps, play}: another run, a puzzle by {puzzle: id}, or one that
//                                                 was shared, by {shared: the word after #play=}
//
//   Play      {branch, branches: [{id, title}], before, actions: [Action], properties: [{name, text, state}], puzzle, puzzles,
//              algorithms: [{name, title, k}], own, setup, fragment}   own: the algorithm is in a file of the user's      state is "holds", "broken" or "open"
//              before: the step where the action before the last one ended
//   Action    {id, what, site, message, timer, text}    what as in a step; message is the id that it is about
//   puzzle    {id, title, goal, best, used, solved, explanation}
//
// Answers with steps have `beside: {head, steps}` too where two algorithms are played. An answer that is not 2xx is one line of text, and is shown. Whoever serves the page identifies the reader by a
// cookie of the same origin, so no call carries a token.


const BOUND = 200000;
const MISHAPS = new Set(["lose", "duplicate", "crash", "restart", "pause", "resume"]);
const FEW = 4;
const LIGHTS = { holds: "●", broken: "✕", open: "○" };

/** The calls, by `fetch`. */
async function callServer(name, body) {
  const answer = await fetch(`api/${name}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }).catch(() => {
    throw new Error("The server of this page does not answer: it ends with its command, soloist watch. Share gives a command that starts it again with this run.");
  });
  if (!answer.ok) throw new Error((await answer.text()).slice(0, 300) || `the server answered ${answer.status}`);
  return answer.json();
}

/** What one can do in play mode: the panel with its actions, lights, branches and puzzles. */
class Game {
  constructor(player, play, { call = callServer, reload, gone, taken = () => {} }) {
    this.player = player;
    this.call = call;
    this.reload = reload;
    this.taken = taken;
    this.play = play;
    this.shownAt = player.runs[0].length - 1;
    this.tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Branches" });
    this.lights = el("ul", { class: "lights", "aria-label": "Properties" });
    this.actions = el("div", { class: "actions", role: "group", tabindex: "-1", "aria-label": "What can happen next" });
    this.said = el("p", { class: "said", role: "status" });
    this.puzzle = el("div", { class: "puzzle" });
    this.another = new Another(play, (settings) => this.begin(settings));
    this.element = el("div", { class: "game" }, this.tabs, this.puzzle, this.lights, this.said, this.help(), el("h3", {}, "What can happen next"), this.actions, this.another.element);
    gone.addEventListener("abort", () => clearTimeout(this.pending));
    this.keepAddress();
  }

  help() {
    const button = (id, text, action) => el("button", { id, onclick: action }, text);
    return el("div", { class: "helpers" },
      button("undo", "Undo", () => this.undo()), button("hint", "Hint", () => this.hint()),
      button("chance", "Let it run 10 steps", () => this.chance()), button("safe", "Is it still safe from here?", () => this.search(false)),
      button("bad-run", "Find me a bad run from here", () => this.search(true)), button("share", "Share", () => this.share()), button("save", "Save", () => this.save()));
  }

  get at() {
    return this.player.at(0);
  }

  get body() {
    return { branch: this.play.branch, at: this.at };
  }

  /** One call at a time; what goes wrong is said, and changes nothing. A click does not get lost in a mere look: it waits for its answer. */
  async ask(name, body) {
    while (this.looking && name !== "state") await this.looking;
    if (this.busy) {
      if (name !== "state") this.say("One thing at a time: the answer to the last click is on its way.");
      return null;
    }
    this.busy = true;
    this.element.setAttribute("aria-busy", "true");
    try {
      const asked = this.call(name, body);
      if (name === "state") this.looking = asked.catch(() => null);
      const answer = await asked;
      if (name !== "state") this.say(answer.text);
      return answer;
    } catch (error) {
      this.say(error.message);
      return null;
    } finally {
      this.busy = false;
      if (name === "state") this.looking = null;
      this.element.removeAttribute("aria-busy");
      this.player.touch();
    }
  }

  /** Where it can be seen: the form below may have been what was used. */
  say(text) {
    fill(this.said, text || "");
    if (text) this.said.scrollIntoView({ block: "nearest" });
  }

  /** One action may take several steps: a crash loses mail. */
  async act(action) {
    const answer = await this.ask("act", { ...this.body, action: action.id });
    if (answer) this.take(answer, answer.steps.length - 1);
  }

  undo() {
    this.player.goTo(0, this.at === this.shownAt ? this.play.before : Math.max(0, this.at - 1));
  }

  async chance() {
    const answer = await this.ask("chance", { ...this.body, steps: 10, seed: Math.floor(Math.random() * 1e9) });
    if (answer) this.take(answer, answer.steps.length - 1);
  }

  async search(show) {
    fill(this.said, "The checker is looking …");
    const answer = await this.ask("search", { ...this.body, states: BOUND, show });
    if (answer && answer.steps) this.take(answer, answer.steps.length - 1);
  }

  async hint() {
    const answer = await this.ask("hint", this.body);
    this.hinted = answer ? answer.action : null;
    this.player.touch();
  }

  async show(branch) {
    const answer = await this.ask("branch", { branch });
    if (answer) this.take(answer, answer.steps.length - 1);
  }

  /** The form is closed meanwhile: what is typed into it would be lost with this run. */
  async begin(settings) {
    this.another.close(true);
    const answer = await this.ask("new", settings);
    this.another.close(false);
    if (answer) this.reload(answer);
  }

  /** The run in the fragment of the address: neither host nor token. */
  keepAddress() {
    const words = new URLSearchParams(location.hash.slice(1));
    if (!this.play.fragment || words.get("play") === this.play.fragment) return;
    words.set("play", this.play.fragment);
    history.replaceState(null, "", `#${words}`);
  }

  async share() {
    while (this.looking) await this.looking;
    if (this.at !== this.shownAt) this.learn(this.at, await this.ask("state", this.body));
    const text = `soloist watch ${this.play.own ? "FILE.py " : ""}--open ${this.play.fragment}`;
    const box = el("textarea", { readonly: true, rows: 4, "aria-label": "This run as a command" });
    box.value = text;
    fill(this.said, `This run until step ${this.shownAt}, for anybody who has Soloist${this.play.own ? " and the file of this algorithm" : ""}:`, box);
    box.select();
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // It can be copied from the box.
    }
  }

  /** The run as a file that `soloist watch FILE` reads. */
  save() {
    const run = this.player.runs[0];
    const lines = [run.head, ...run.steps.slice(0, this.at + 1)].map((each) => JSON.stringify(each)).join("\n");
    const link = el("a", { href: URL.createObjectURL(new Blob([`${lines}\n`], { type: "application/x-ndjson" })), download: `${run.head.algorithm}.jsonl` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // some browsers read it a moment later
  }

  take({ steps, beside, play }, at) {
    this.play = play;
    this.hinted = null;
    this.player.runs[0].replace(steps);
    if (beside && this.player.runs[1]) this.player.runs[1].replace(beside.steps);
    this.player.found = search(this.player.run, this.player.query);
    this.keepAddress();
    this.taken();
    this.shownAt = steps.length - 1;
    this.player.selected = null;
    this.player.lay();
    this.player.goTo(0, Math.min(at, steps.length - 1));
    this.player.touch();
  }

  /** At an earlier step other things are possible: the server is asked, once the playhead rests there. */
  look() {
    this.pending = setTimeout(async () => {
      const { at } = this;
      if (at === this.shownAt) return;
      if (this.busy) {
        this.askedAt = null; // asked again, once the other answer is there
        return;
      }
      this.learn(at, await this.ask("state", this.body));
    }, 200);
  }

  /** What is possible at a step, if one is still there. */
  learn(at, answer) {
    if (!answer) return;
    if (at === this.at) {
      this.play = answer.play;
      this.shownAt = at;
      this.keepAddress();
    } else this.askedAt = null; // one has gone elsewhere meanwhile
    this.player.touch();
  }

  draw() {
    if (this.at !== this.askedAt) {
      this.askedAt = this.at;
      clearTimeout(this.pending);
      if (this.at !== this.shownAt) this.look();
    }
    const key = `${this.player.version}:${this.at}:${this.shownAt}`;
    if (key === this.drawn) return false;
    this.drawn = key;
    const { play } = this;
    refill(this.tabs, ...play.branches.map(({ id, title }) => el("button", { role: "tab", "aria-selected": String(id === play.branch), onclick: () => this.show(id) }, title)));
    fill(this.lights, ...play.properties.map(({ name, text, state }) => el("li", { class: state, title: text }, `${LIGHTS[state] || "○"} ${name}: ${state}`)));
    const stale = this.at !== this.shownAt;
    const button = (action) => el("button", { class: action.id === this.hinted ? "hinted" : "", "data-action": action.id, onclick: () => this.act(action) }, action.text);
    const shown = stale ? [] : play.actions;
    const faults = shown.filter(({ what }) => MISHAPS.has(what));
    this.mishapsOpen = this.actions.querySelector("details")?.open ?? this.mishapsOpen;
    const open = this.mishapsOpen ?? faults.length <= FEW;
    refill(this.actions, ...shown.filter(({ what }) => !MISHAPS.has(what)).map(button),
      faults.length ? el("details", { open }, el("summary", {}, `What may go wrong (${faults.length})`), ...faults.map(button)) : null);
    this.drawPuzzle(play.puzzle);
    return false;
  }

  /** Only where something has changed: a list that is open would be shut. */
  drawPuzzle(puzzle) {
    const told = JSON.stringify(puzzle ?? null);
    if (told === this.told) return;
    this.told = told;
    const { puzzles = [] } = this.play;
    const choice = puzzles.length ? el("select", { "aria-label": "Beat the paper: choose a puzzle", onchange: (event) => event.target.value && this.begin({ puzzle: event.target.value }) },
      el("option", { value: "" }, "Beat the paper …"), ...puzzles.map(({ id, title, best }) => el("option", { value: id, selected: puzzle && puzzle.id === id }, `${title} (best known: ${best} steps)`))) : null;
    fill(this.puzzle, choice, puzzle ? el("p", {}, el("b", {}, puzzle.title), ` ${puzzle.goal} Best known: ${puzzle.best} steps; yours so far: ${puzzle.used}.`) : null,
      puzzle && puzzle.solved ? el("p", { class: "solved" }, el("b", {}, "Beaten. "), puzzle.explanation || "") : null);
  }

  /** A click on a message on the stage delivers it, with shift it is dropped. False where nothing of the kind is possible. */
  pickMessage(r, message, drop) {
    const what = drop ? "lose" : "deliver";
    const action = r === 0 && this.at === this.shownAt && this.play.actions.find((each) => each.message === message.id && each.what === what);
    if (!action) return false;
    this.act(action);
    return true;
  }
}

/** The form that begins another run. */
class Another {
  constructor(play, begin) {
    const { algorithms = [], setup = {} } = play;
    const choice = (name, label, options, chosen) => el("label", {}, label, el("select", { name }, ...options.map(([value, text]) => el("option", { value, selected: value === (chosen || "") }, text))));
    const number = (name, label, value, most, least = 1) => el("label", {}, label, el("input", { name, type: "number", min: least, max: most, value }));
    const names = algorithms.map(({ name, title }) => [name, title]);
    this.fields = el("fieldset", {},
      choice("algorithm", "algorithm", names, setup.algorithm), number("nodes", "sites", setup.nodes || 3, 30), number("k", "K", setup.k || 1, 30),
      choice("channels", "links", [["", "as it needs"], ["fifo", "FIFO"], ["any", "unordered"]], setup.channels),
      choice("workload", "who asks", [["", "whom I choose"], ["rare", "each now and then"], ["always", "all, all the time"]], setup.workload),
      choice("beside", "beside it", [["", "nothing"], ...names], setup.beside), number("chance", "steps by chance", setup.chance || 0, 200, 0), number("seed", "seed", setup.seed ?? 1, 999999999, 0),
      el("button", { type: "submit" }, "Begin"));
    this.form = el("form", { onsubmit: (event) => { event.preventDefault(); begin(this.settings()); } }, this.fields);
    this.element = el("details", { class: "another", id: "another" }, el("summary", {}, "Another run"), this.form);
  }

  /** Whoever was in it is there again when it opens. */
  close(closed) {
    if (closed) this.left = this.fields.contains(document.activeElement) ? document.activeElement : null;
    this.fields.disabled = closed;
    if (!closed) this.left?.focus();
  }

  settings() {
    const given = Object.fromEntries(new FormData(this.form));
    for (const name of ["nodes", "k", "chance", "seed"]) given[name] = Number(given[name]);
    for (const name of ["channels", "workload", "beside"]) given[name] = given[name] || null;
    return given;
  }
}

// How the score is drawn: lanes, waiting and inside as bars, messages as arrows, events as marks, the playhead. What does
// not depend on the playhead is drawn into a backdrop, which stays as long as the view does.


const GUTTER = 64;
const RULER = 22;
const MOST_ARROWS = 1500;
const MOST_TICKS = 200;
const FAULTS = new Set(["crash", "restart", "pause", "resume", "lose", "duplicate", "cut", "heal"]);

/** What a score draws; where things are in the view, `Score` knows. */
class ScoreDrawing {
  drawView(context) {
    const [from, to] = this.stepsInView();
    this.refreshBackdrop(from, to);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.backdrop, 0, 0);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.save();
    this.clip(context);
    this.drawMessages(context, this.messagesOfNow(), this.player.cone(this.r), true);
    this.drawFuture(context);
    if (!this.dense) this.drawLabels(context);
    this.drawPlayhead(context);
    context.restore();
    this.drawNames(context);
  }

  clip(context) {
    context.beginPath();
    context.rect(GUTTER - 6, 0, this.width, this.height);
    context.clip();
  }

  /** All that does not depend on the playhead, drawn anew only when the view or the selection has changed. */
  refreshBackdrop(from, to) {
    const { player } = this;
    const key = [this.left, this.scale, this.top, player.version, player.axis, this.width, this.height, this.run.edition].join();
    if (this.backdrop && key === this.backdropOf) return;
    this.backdropOf = key;
    this.backdrop = this.backdrop || document.createElement("canvas");
    this.backdrop.width = this.canvas.width;
    this.backdrop.height = this.canvas.height;
    const context = this.backdrop.getContext("2d");
    context.scale(this.ratio, this.ratio);
    context.font = this.font;
    this.clip(context);
    this.marks = [];
    this.arrows = [];
    const messages = this.run.between(from, to).filter((message) => player.shows(message));
    this.dense = messages.length > MOST_ARROWS;
    this.drawRuler(context);
    this.drawLanes(context, from, to);
    this.drawMessages(context, this.dense ? this.thinned(messages) : messages, player.cone(this.r), false);
    this.drawEvents(context, from, to, player.cone(this.r));
  }

  /** What this step received and sent: drawn once more, wider. */
  messagesOfNow() {
    const step = this.run.steps[this.player.at(this.r)];
    const numbers = [step.message, ...(step.sent || []).map((sent) => sent.id)];
    return numbers.map((id) => this.run.messages.get(id)).filter((message) => message && this.player.shows(message));
  }

  /** Of more arrows than one could tell apart, only as many as make the pattern: those of the selection stay. */
  thinned(messages) {
    const every = Math.ceil(messages.length / MOST_ARROWS);
    const cone = this.player.cone(this.r);
    return messages.filter((message, i) => i % every === 0 || (cone && message.sent === this.player.selected.step));
  }

  drawRuler(context) {
    const wanted = 90 / this.scale;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const nice = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= wanted);
    const every = this.axis === "step" ? Math.max(1, Math.round(nice)) : nice;
    const right = this.left + (this.width - GUTTER) / this.scale;
    context.fillStyle = this.look.soft;
    context.strokeStyle = this.look.line;
    context.textAlign = "center";
    context.lineWidth = 1;
    context.beginPath();
    const first = Math.max(0, Math.ceil(this.left / every));
    for (let i = 0; i < MOST_TICKS; i++) { // counted: a large time and a small one may add up to the large one
      const place = (first + i) * every;
      if (place > right) break;
      const x = Math.round(this.x(place)) + 0.5;
      context.moveTo(x, RULER - 4);
      context.lineTo(x, this.height);
      const unit = this.axis === "time" && this.run.head.unit === "s" ? " s" : "";
      context.fillText(`${+place.toPrecision(6)}${unit}`, x, RULER - 8);
    }
    context.globalAlpha = 0.5;
    context.stroke();
    context.globalAlpha = 1;
  }

  drawLanes(context, from, to) {
    for (let site = 0; site < this.run.nodes; site++) {
      const y = this.y(site);
      if (y < -this.lane || y > this.height + this.lane) continue;
      context.globalAlpha = this.player.hiddenSites.has(site) ? 0.25 : 1;
      context.fillStyle = site === this.player.site ? this.look.soft : this.look.faint;
      context.fillRect(GUTTER - 6, Math.round(y) - (site === this.player.site ? 1 : 0.5), this.width, site === this.player.site ? 2 : 1);
      for (const span of this.spansInView(site, from, to)) this.drawSpan(context, span, y);
    }
    context.globalAlpha = 1;
  }

  spansInView(site, from, to) {
    const spans = this.run.spans[site];
    let [low, high] = [0, spans.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (spans[middle].to < from) low = middle + 1;
      else high = middle;
    }
    const found = [];
    for (let i = low; i < spans.length && spans[i].from <= to; i++) found.push(spans[i]);
    return found;
  }

  drawSpan(context, { is, from, to }, y) {
    if (this.player.cone(this.r)) context.globalAlpha = 0.4;
    const end = to >= this.run.length ? this.width + 10 : this.x(this.run.place(to, this.axis));
    const x = Math.max(this.x(this.run.place(from, this.axis)), GUTTER - 10);
    const width = Math.max(1.5, Math.min(end, this.width + 10) - x);
    const half = clamp(this.lane * 0.2, 4, 11);
    if (is === "inside") {
      context.fillStyle = this.look.inside;
      context.fillRect(x, y - half, width, 2 * half);
    } else if (is === "waiting") {
      context.fillStyle = this.dense ? this.look.faint : this.hatch(context);
      context.fillRect(x, y - half * 0.7, width, 1.4 * half);
    } else {
      context.fillStyle = is === "down" ? this.look.down : this.look.soft;
      context.fillRect(x, y - half * 0.45, width, 0.9 * half);
    }
  }

  /** Waiting is hatched, so that it is told from inside without colour. */
  hatch(context) {
    if (this.hatched && this.hatchedWith === this.look.waiting) return this.hatched;
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d");
    pen.strokeStyle = this.look.waiting;
    pen.lineWidth = 1.4;
    for (const shift of [-6, 0, 6]) {
      pen.moveTo(shift, 6);
      pen.lineTo(shift + 6, 0);
    }
    pen.stroke();
    this.hatchedWith = this.look.waiting;
    return (this.hatched = context.createPattern(tile, "repeat"));
  }

  drawMessages(context, messages, cone, now) {
    const bright = (message) => !cone || (cone[message.sent] && (message.end === null || message.lost || cone[message.end]) && this.sameSide(cone, message));
    for (const message of messages) {
      const arrow = this.arrow(message);
      context.globalAlpha = bright(message) ? (this.dense && !now && !cone ? 0.1 : 1) : this.dense ? 0.03 : 0.13;
      context.strokeStyle = context.fillStyle = this.look.colour(message.kind);
      context.lineWidth = now ? 2.6 : 1.4;
      context.setLineDash(message.end === null ? [2, 4] : this.look.dash(message.kind));
      context.beginPath();
      context.moveTo(arrow.x1, arrow.y1);
      context.lineTo(arrow.x2, arrow.y2);
      context.stroke();
      context.setLineDash([]);
      if (message.lost) this.drawCross(context, arrow.x2, arrow.y2, 5);
      else if (message.end !== null) this.drawTip(context, arrow);
      if (!now && bright(message)) this.arrows.push(arrow);
    }
    context.globalAlpha = 1;
  }

  /** An arrow is bright if both its ends are on one side of the selection: both before, or both after. */
  sameSide(cone, message) {
    return message.end === null || message.lost || (cone[message.sent] & cone[message.end]) !== 0;
  }

  arrow(message) {
    const x1 = this.x(this.run.place(message.sent, this.axis));
    const [y1, y] = [this.y(message.from), this.y(message.to)];
    if (message.end === null) {
      const part = Math.min(0.6, 60 / Math.max(1, Math.abs(y - y1)));
      return { message, x1, y1, x2: x1 + 46, y2: y1 + (y - y1) * part };
    }
    const x2 = this.x(this.run.place(message.end, this.axis));
    if (message.lost) return { message, x1, y1, x2: x1 + 0.75 * (x2 - x1), y2: y1 + 0.75 * (y - y1) };
    return { message, x1, y1, x2, y2: y };
  }

  drawTip(context, { x1, y1, x2, y2 }) {
    const angle = Math.atan2(y2 - y1, x2 - x1);
    const back = 5.5;
    const [x, y] = [x2 - back * Math.cos(angle), y2 - back * Math.sin(angle)];
    const point = (turn) => [x - 8 * Math.cos(angle + turn), y - 8 * Math.sin(angle + turn)];
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(...point(0.4));
    context.lineTo(...point(-0.4));
    context.fill();
  }

  drawCross(context, x, y, r) {
    context.lineWidth = 2.4;
    context.beginPath();
    context.moveTo(x - r, y - r);
    context.lineTo(x + r, y + r);
    context.moveTo(x - r, y + r);
    context.lineTo(x + r, y - r);
    context.stroke();
  }

  drawEvents(context, from, to, cone) {
    const r = clamp(this.scale * (this.axis === "step" ? 0.2 : 4), 2, 5);
    const found = new Set(this.player.active === this.r ? this.player.found : []);
    const bad = new Set(this.run.tooMany);
    for (let n = from; n <= to; n++) {
      const step = this.run.steps[n];
      if (this.player.hiddenSites.has(step.site)) continue;
      const x = this.x(this.run.place(n, this.axis));
      const y = this.heightOf(step);
      context.globalAlpha = !cone || cone[n] ? 1 : 0.15;
      if (!this.dense || FAULTS.has(step.what) || (cone && cone[n])) this.drawEvent(context, step, x, y, r);
      if (bad.has(n)) this.ring(context, x, y, r + 5, this.look.bad);
      if (found.has(n)) this.ring(context, x, y, r + 4, this.look.playhead);
      this.marks.push({ n, x, y });
    }
    context.globalAlpha = 1;
  }

  /** What is about all sites stands above them. */
  heightOf(step) {
    const site = siteOf(step);
    return site === null ? RULER : this.y(site);
  }

  drawEvent(context, step, x, y, r) {
    const message = this.run.messages.get(step.message);
    const { look } = this;
    context.fillStyle = context.strokeStyle = message ? look.colour(message.kind) : look.ink;
    context.lineWidth = 1.5;
    if (step.what === "crash") {
      context.fillStyle = look.down;
      context.fillRect(x - 2, y - this.lane * 0.36, 4, this.lane * 0.72);
      return;
    }
    if (step.what === "lose" || step.what === "cut") return this.drawCross(context, x, y, r * 0.8);
    if (step.what === "begin") return;
    if (step.what === "deliver") traceShape(context, look.shape(message.kind), x, y, r);
    else traceShape(context, { request: "triangle", release: "square", timeout: "diamond" }[step.what] || "hexagon", x, y, r);
    if (step.what !== "deliver") {
      context.fillStyle = look.ground;
      context.fill();
      context.stroke();
    } else context.fill();
  }

  ring(context, x, y, r, colour) {
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, r, 0, 2 * Math.PI);
    context.stroke();
  }

  /** What has not happened yet is seen through a veil. */
  drawFuture(context) {
    const x = this.x(this.player.place(this.r)) + 4;
    if (x > this.width) return;
    context.globalAlpha = 0.5;
    context.fillStyle = this.look.ground;
    context.fillRect(Math.max(x, GUTTER - 6), RULER, this.width, this.height);
    context.globalAlpha = 1;
  }

  /** Kinds of messages beside their arrows, where there is room; a label that would cover another is left out. */
  drawLabels(context) {
    const taken = this.marks.map(({ x, y }) => [x - 5, y - 5, x + 5, y + 5]);
    context.textAlign = "center";
    context.lineWidth = 4;
    const now = new Set(this.messagesOfNow());
    const nowFirst = [...this.arrows].sort((a, b) => now.has(b.message) - now.has(a.message));
    for (const { message, x1, y1, x2, y2 } of nowFirst) {
      const half = context.measureText(message.kind).width / 2 + 2;
      if (Math.hypot(x2 - x1, y2 - y1) < 2 * half + 14) continue;
      for (const part of [0.5, 0.36, 0.64, 0.25, 0.75]) {
        const [x, y] = [x1 + part * (x2 - x1), y1 + part * (y2 - y1)];
        const box = [x - half, y - 7, x + half, y + 7];
        if (box[0] < GUTTER - 6 || box[2] > this.width) continue;
        if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
        taken.push(box);
        context.strokeStyle = this.look.ground;
        context.fillStyle = this.look.colour(message.kind);
        context.globalAlpha = message.sent > this.player.at(this.r) ? 0.5 : 1;
        context.strokeText(message.kind, x, y + 4);
        context.fillText(message.kind, x, y + 4);
        break;
      }
    }
    context.globalAlpha = 1;
  }

  drawPlayhead(context) {
    const x = this.x(this.player.place(this.r));
    context.fillStyle = this.look.ground;
    context.fillRect(x - 18, 2, 36, RULER - 5);
    context.fillStyle = this.look.playhead;
    context.fillRect(x - 1, RULER - 6, 2, this.height);
    context.beginPath();
    context.moveTo(x - 6, RULER - 14);
    context.lineTo(x + 6, RULER - 14);
    context.lineTo(x, RULER - 4);
    context.fill();
    const selected = this.player.selected;
    if (selected && selected.run === this.r) {
      this.ring(context, this.x(this.run.place(selected.step, this.axis)), this.heightOf(this.run.steps[selected.step]), 9, this.look.ink);
    }
  }

  drawNames(context) {
    const state = this.run.stateAt(this.player.at(this.r));
    context.textAlign = "left";
    for (let site = 0; site < this.run.nodes; site++) {
      const y = this.y(site);
      context.fillStyle = this.look.ink;
      context.globalAlpha = this.player.hiddenSites.has(site) ? 0.3 : 1;
      context.font = `${site === this.player.site ? "bold " : ""}${this.font}`;
      context.fillText(this.run.names[site].slice(0, 7), 8, y + (this.lane > 34 ? 0 : 4));
      if (this.lane > 34) {
        context.font = this.font.replace("12px", "10px");
        context.fillStyle = this.look.soft;
        context.fillText(state.up[site] === "up" ? state.phase[site] : state.up[site], 8, y + 12);
      }
    }
    context.globalAlpha = 1;
    context.font = this.font;
  }
}

// The score: time runs across, a lane per site. Drawn on canvas, and only what is in view, so that ten thousand
// steps scrub as smoothly as ten.


const NEAR = 9;
const WIDEST = 3;
const LOWEST = 15;

class Score extends ScoreDrawing {
  constructor(player, look, r) {
    super();
    this.player = player;
    this.look = look;
    this.r = r;
    this.scale = null;
    this.left = 0;
    this.top = 0;
    this.follow = true;
    this.zoomed = "";
    this.canvas = el("canvas", { tabindex: "0", role: "img", class: "score-canvas" });
    this.tip = el("div", { class: "tip", hidden: true, role: "tooltip" });
    this.element = el("div", { class: "score" }, this.canvas, this.tip);
    this.watchSize();
    this.watchPointer();
  }

  get run() {
    return this.player.runs[this.r];
  }

  watchSize() {
    new ResizeObserver(() => {
      const { width, height } = this.element.getBoundingClientRect();
      const ratio = window.devicePixelRatio || 1;
      this.width = width;
      this.height = height;
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.ratio = ratio;
      this.drawn = null;
      this.player.changed();
    }).observe(this.element);
  }

  get axis() {
    return this.player.axis;
  }

  /** First and last place of the axis: of both runs, so that they are to the same scale. */
  get extent() {
    const { runs, axis } = this.player;
    const ends = runs.map((run) => run.place(run.length - 1, axis));
    return [Math.min(...runs.map((run) => run.place(0, axis))), Math.max(...ends)];
  }

  get lane() {
    const room = this.height - RULER - 8;
    return clamp(room / this.run.nodes, LOWEST, 90);
  }

  x(place) {
    return GUTTER + (place - this.left) * this.scale;
  }

  y(site) {
    return RULER + (site + 0.5) * this.lane - this.top;
  }

  /** All of the run at once. */
  fit() {
    const [first, last] = this.extent;
    this.scale = (this.width - GUTTER - 30) / Math.max(last - first, 1e-9);
    this.left = first - 12 / this.scale;
  }

  /** And it stays so, however long the run gets. */
  showAll() {
    this.zoomed = "out";
    this.fit();
  }

  zoom(by, around = null) {
    this.zoomed = "by hand";
    const [first, last] = this.extent;
    const least = (this.width - GUTTER - 30) / Math.max(last - first, 1e-9);
    const at = around === null ? this.x(this.player.place(this.r)) : around;
    const place = this.left + (at - GUTTER) / this.scale;
    this.scale = clamp(this.scale * by, Math.min(least, this.natural()), this.natural() * 12);
    this.left = place - (at - GUTTER) / this.scale;
    this.player.changed();
  }

  /** The scale at which steps are far enough apart to be read: some 46 pixels each. */
  natural() {
    const [first, last] = this.extent;
    const steps = Math.max(1, ...this.player.runs.map((run) => run.length - 1));
    return (46 * steps) / Math.max(last - first, 1e-9);
  }

  pan(pixels) {
    this.left -= pixels / this.scale;
    this.follow = false;
    this.player.changed();
  }

  /** Brings the playhead into view where it has left the middle of it. */
  keepInView() {
    this.fitRun();
    const x = this.x(this.player.place(this.r));
    const [low, high] = [GUTTER + 0.12 * (this.width - GUTTER), GUTTER + 0.78 * (this.width - GUTTER)];
    if (this.follow) this.bringLaneIntoView();
    if (!this.follow || (x >= low && x <= high)) return;
    const [first, last] = this.extent;
    const wanted = this.left + (x - (x < low ? low : high)) / this.scale;
    const most = Math.max(first - 12 / this.scale, last - (this.width - GUTTER - 40) / this.scale);
    this.left = clamp(wanted, first - 12 / this.scale, most);
  }

  /** Of more lanes than there is room for, the one where this step happens is seen. */
  bringLaneIntoView() {
    const site = siteOf(this.run.steps[this.player.at(this.r)]);
    if (site === null) return;
    const y = this.y(site);
    if (y - this.lane / 2 >= RULER && y + this.lane / 2 <= this.height) return;
    this.top = this.topWithin(this.top + y - (RULER + this.height) / 2);
  }

  /** A run that has grown, or lies on another axis, is brought into view, to a scale of its own unless one was chosen. */
  fitRun() {
    const { axis, runs } = this.player;
    const key = [axis, ...runs.map((run) => run.edition)].join();
    if (key === this.fitted) return;
    const chosen = this.scale !== null && axis === this.fittedAxis ? this.zoomed : "";
    [this.fitted, this.fittedAxis, this.follow] = [key, axis, true];
    if (chosen === "out") this.fit();
    else if (!chosen) this.open();
  }

  open() {
    this.zoomed = "";
    this.fit();
    if (this.scale < this.natural() * 0.6) this.scale = this.natural();
    this.scale = Math.min(this.scale, this.natural() * WIDEST);
    this.left = this.extent[0] - 12 / this.scale;
  }

  draw() {
    if (!this.width) return false;
    this.keepInView();
    const { player, run } = this;
    const key = [player.position, player.moment, this.left, this.scale, this.top, player.version, this.width, this.height, run.edition].join();
    if (key === this.drawn) return false;
    this.drawn = key;
    const context = this.canvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = this.font = this.font || `12px ${getComputedStyle(this.element).fontFamily}`;
    this.drawView(context);
    this.canvas.setAttribute("aria-label", this.label());
    return false;
  }

  label() {
    const n = this.player.at(this.r);
    return `Score of ${this.run.head.title}: ${this.run.nodes} sites, step ${n} of ${this.run.length - 1}. ${describe(this.run, n)}`;
  }

  stepsInView() {
    const right = this.left + (this.width - GUTTER) / this.scale;
    return [this.stepBefore(this.left - 8 / this.scale), Math.min(this.run.length - 1, this.stepBefore(right) + 1)];
  }

  /** The last step at or before a place on the axis. */
  stepBefore(place) {
    if (this.axis === "step") return clamp(Math.floor(place), 0, this.run.length - 1);
    let [low, high] = [0, this.run.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.run.times[middle] <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // What the pointer does.

  watchPointer() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.lift(event));
    canvas.addEventListener("pointercancel", () => (this.drag = null));
    canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.fingers = new Map();
  }

  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, event);
    this.drag = { x: event.offsetX, y: event.offsetY, left: this.left, top: this.top, moved: false };
  }

  move(event) {
    if (!this.drag) return this.hover(event);
    if (this.fingers.size === 2) return this.pinch(event);
    const [dx, dy] = [event.offsetX - this.drag.x, event.offsetY - this.drag.y];
    if (Math.hypot(dx, dy) > 4) this.drag.moved = true;
    if (!this.drag.moved) return undefined;
    this.follow = false;
    this.left = this.drag.left - dx / this.scale;
    this.scrollTo(this.drag.top - dy);
    this.player.changed();
    return undefined;
  }

  pinch(event) {
    const spread = () => {
      const [a, b] = [...this.fingers.values()];
      return Math.abs(a.offsetX - b.offsetX) + Math.abs(a.offsetY - b.offsetY);
    };
    const before = spread();
    this.fingers.set(event.pointerId, event);
    this.drag.moved = true;
    this.zoom(clamp(spread() / Math.max(before, 1), 0.8, 1.25), event.offsetX);
  }

  lift(event) {
    this.fingers.delete(event.pointerId);
    const { drag } = this;
    this.drag = this.fingers.size ? this.drag : null;
    if (!drag || drag.moved) return;
    const hit = this.hit(event.offsetX, event.offsetY);
    this.player.active = this.r;
    this.follow = true;
    if (event.offsetX < GUTTER - 6) this.pickSite(event.offsetY);
    else if (hit) this.player.select(this.r, hit.n);
    else this.goToPlace(this.left + (event.offsetX - GUTTER) / this.scale);
  }

  pickSite(y) {
    const site = Math.floor((y - RULER + this.top) / this.lane);
    if (site < 0 || site >= this.run.nodes) return;
    this.player.site = this.player.site === site ? null : site;
    this.player.touch();
  }

  goToPlace(place) {
    this.player.pause();
    this.player.goTo(this.r, this.stepBefore(place + 0.5 * (this.axis === "step")));
  }

  wheel(event) {
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(-event.deltaY / 300), event.offsetX);
    else if (event.shiftKey) this.scrollTo(this.top + event.deltaY);
    else this.pan(-(event.deltaX || event.deltaY));
  }

  scrollTo(top) {
    this.top = this.topWithin(top);
    this.player.changed();
  }

  topWithin(top) {
    return clamp(top, 0, Math.max(0, this.run.nodes * this.lane + RULER + 8 - this.height));
  }

  /** The event or message at a point: the step to go to, and what to say about it. */
  hit(x, y) {
    let best = null;
    for (const mark of this.marks || []) {
      const far = Math.hypot(mark.x - x, mark.y - y);
      if (far < NEAR && (!best || far < best.far)) best = { far, n: mark.n, text: describe(this.run, mark.n) };
    }
    if (best) return best;
    for (const arrow of this.arrows || []) {
      const far = distance(x, y, arrow);
      if (far < 6 && (!best || far < best.far)) best = { far, n: arrow.message.end === null ? arrow.message.sent : arrow.message.end, text: this.tell(arrow.message) };
    }
    return best;
  }

  tell(message) {
    const ends = message.end === null ? "still on its way" : `${message.lost ? "lost" : "received"} in step ${message.end}`;
    return `${showMessage(message)} from ${this.run.names[message.from]} to ${this.run.names[message.to]}, sent in step ${message.sent}, ${ends}`;
  }

  hover(event) {
    const hit = this.hit(event.offsetX, event.offsetY);
    this.canvas.style.cursor = hit ? "pointer" : "";
    this.tip.hidden = !hit;
    if (!hit) return;
    this.tip.textContent = hit.text;
    this.tip.style.left = `${clamp(event.offsetX + 14, 0, Math.max(0, this.width - 270))}px`;
    this.tip.style.top = `${event.offsetY > this.height - 90 ? event.offsetY - 70 : event.offsetY + 16}px`;
  }
}

function distance(x, y, { x1, y1, x2, y2 }) {
  const length = (x2 - x1) ** 2 + (y2 - y1) ** 2 || 1;
  const part = clamp(((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length, 0, 1);
  return Math.hypot(x - x1 - part * (x2 - x1), y - y1 - part * (y2 - y1));
}

// The source panel: the algorithm's own file with the lines that this step executed marked.


class Source {
  constructor(player) {
    this.player = player;
    this.tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Files" });
    this.code = el("pre", { class: "code", tabindex: "0", "aria-label": "Source of the algorithm" });
    this.element = el("div", { class: "source" }, this.tabs, this.code);
    this.shown = null;
  }

  draw() {
    const { player } = this;
    const [run, n] = [player.run, player.at()];
    const key = `${player.active}:${n}:${player.version}:${run.edition}`;
    if (key === this.drawn) return false;
    this.drawn = key;
    const { files } = run;
    if (files.length === 0) {
      fill(this.code, el("p", { class: "more" }, "This trace carries no source."));
      return false;
    }
    const lines = run.steps[n].lines || [];
    const inFile = lines.length && !lines.some(([file]) => file === this.file) ? lines[0][0] : this.file || 0;
    this.open(run, files, inFile < files.length ? inFile : 0);
    this.mark(lines.filter(([file]) => file === this.file).map(([, line]) => line));
    return false;
  }

  open(run, files, file) {
    if (this.shown === run && this.file === file) return;
    this.shown = run;
    this.file = file;
    fill(this.tabs, ...files.map((each, i) =>
      el("button", { role: "tab", "aria-selected": String(i === file), onclick: () => this.choose(i) }, nameOf(files, i))));
    const { first, text } = files[file];
    this.first = first || 1;
    this.code.style.setProperty("counter-reset", `line ${this.first - 1}`);
    this.rows = text.replace(/\n$/, "").split("\n").map((row) => el("code", { class: kindOfLine(row) }, row || " "));
    dimDocstrings(this.rows);
    fill(this.code, ...this.rows);
    this.marked = [];
  }

  choose(file) {
    this.open(this.player.run, this.player.run.files, file);
    this.mark((this.player.run.steps[this.player.at()].lines || []).filter(([each]) => each === file).map(([, line]) => line));
  }

  mark(lines) {
    for (const row of this.marked) {
      row.classList.remove("ran");
      row.removeAttribute("aria-current");
    }
    this.marked = [...new Set(lines)].sort((a, b) => a - b).map((line) => this.rows[line - this.first]).filter(Boolean);
    for (const row of this.marked) {
      row.classList.add("ran");
      row.setAttribute("aria-current", "step");
    }
    this.bringIntoView();
  }

  bringIntoView() {
    if (this.marked.length === 0) return;
    const { code } = this;
    const [top, bottom] = [this.marked[0].offsetTop, this.marked[this.marked.length - 1].offsetTop + 20];
    if (top >= code.scrollTop && bottom <= code.scrollTop + code.clientHeight) return;
    const room = code.clientHeight - (bottom - top);
    code.scrollTop = top - Math.max(20, room / 2);
  }
}

/** A text and its repair may lie in files of the same name: what comes later is what it builds on. */
function nameOf(files, i) {
  const same = files.filter(({ file }) => file === files[i].file);
  return same.length > 1 ? `${files[i].file} (${same.indexOf(files[i]) + 1})` : files[i].file;
}

function kindOfLine(row) {
  const text = row.trim();
  return text.startsWith("#") ? "quiet" : "";
}

/** Docstrings are quieter than what runs. */
function dimDocstrings(rows) {
  let open = false;
  for (const row of rows) {
    const quotes = (row.textContent.match(/"""/g) || []).length;
    if (open || (quotes && row.textContent.trim().startsWith('"""'))) row.classList.add("quiet");
    if (quotes % 2 && (open || row.classList.contains("quiet"))) open = !open;
  }
}

// Labels of the messages on the stage: beside their message, clear of sites and of one another.

const HEIGHT = 13;
const LETTER = 7;

const widthOf = (text) => LETTER * text.length;

/** On the right of its message, unless only the left is free of sites. */
function placeBeside({ label, r, spot: [x, y] }, width, sites, radius) {
  const wide = widthOf(label.textContent) + r + 3;
  const free = (left, right) => left > 0 && right < width
    && sites.every(([cx, cy]) => Math.abs(cy - y) > radius + 4 || cx - radius > right || cx + radius < left);
  const side = !free(x, x + wide) && free(x - wide, x) ? -1 : 1;
  label.setAttribute("x", side * (r + 3));
  label.setAttribute("text-anchor", side < 0 ? "end" : "start");
}

/** The room that a text takes below a site, whose rim is at `y`. */
function below(text, x, y) {
  const wide = 0.85 * widthOf(text);
  return { left: x - wide / 2, wide, y: y + HEIGHT };
}

/** Labels that would lie on one another, or on what is `taken`, stand below one another. */
function part(flights, taken) {
  const rooms = taken.filter(({ wide }) => wide);
  const fromAbove = flights.filter((flight) => flight.label).sort((one, other) => one.spot[1] - other.spot[1]);
  for (const { label, spot: [x, y] } of fromAbove) {
    const wide = widthOf(label.textContent);
    const from = x + Number(label.getAttribute("x"));
    const room = { left: label.getAttribute("text-anchor") === "end" ? from - wide : from, wide, y };
    while (rooms.some((other) => meet(room, other))) room.y += HEIGHT;
    rooms.push(room);
    label.setAttribute("y", String(4 + Math.round(room.y - y)));
  }
}

function meet(one, other) {
  return Math.abs(one.y - other.y) < HEIGHT && one.left < other.left + other.wide && other.left < one.left + one.wide;
}

// Where sites stand on the stage: in the structure that their algorithm runs on. Places are within -1 and 1.

const TURN = 2 * Math.PI;
const MANY = 16;
const PARTS = 720;

/** A place [x, y] for each site; together they fill the stage, which is `aspect` times as wide as high. */
function places(stage, nodes, aspect = 1) {
  const round = !["star", "grid", "groups"].includes(stage.layout) && !(stage.layout === "tree" && stage.edges.length);
  const found = round && nodes > MANY ? ellipsePlaces(nodes, aspect) : structured(stage, nodes);
  const ranges = [0, 1].map((axis) => {
    const values = found.map((place) => place[axis]);
    return [Math.min(...values), Math.max(...values)];
  });
  return found.map((place) => place.map((value, axis) => {
    const [low, high] = ranges[axis];
    return high - low < 1e-6 ? 0 : (2 * (value - low)) / (high - low) - 1;
  }));
}

function structured(stage, nodes) {
  switch (stage.layout) {
    case "tree": // one without edges is made of pointers that turn, and is seen best on a circle
      return stage.edges.length ? treePlaces(stage.edges, nodes) : circlePlaces(nodes);
    case "star":
      return starPlaces(stage.edges, nodes);
    case "grid":
      return gridPlaces(nodes);
    case "groups":
      return groupPlaces(stage.edges, nodes);
    default:
      return circlePlaces(nodes);
  }
}

function circlePlaces(nodes) {
  if (nodes === 1) return [[0, 0]];
  return Array.from({ length: nodes }, (_, i) => [Math.sin((TURN * i) / nodes), -Math.cos((TURN * i) / nodes)]);
}

/** Many on a wide stage would crowd at its sides if they stood at equal angles: they stand at equal distances. */
function ellipsePlaces(nodes, aspect) {
  const rim = Array.from({ length: PARTS + 1 }, (_, i) => [Math.sin((TURN * i) / PARTS), -Math.cos((TURN * i) / PARTS)]);
  const until = [0];
  for (let i = 1; i <= PARTS; i++) until.push(until[i - 1] + Math.hypot(aspect * (rim[i][0] - rim[i - 1][0]), rim[i][1] - rim[i - 1][1]));
  return Array.from({ length: nodes }, (_, site) => rim[until.findIndex((way) => way >= (until[PARTS] * site) / nodes)]);
}

/** The site with most edges in the middle. */
function starPlaces(edges, nodes) {
  const degrees = new Array(nodes).fill(0);
  for (const [a, b] of edges) {
    degrees[a] += 1;
    degrees[b] += 1;
  }
  const centre = degrees.indexOf(Math.max(...degrees));
  const around = circlePlaces(nodes - 1);
  return Array.from({ length: nodes }, (_, i) => (i === centre ? [0, 0] : around[i < centre ? i : i - 1]));
}

function gridPlaces(nodes) {
  const columns = Math.ceil(Math.sqrt(nodes));
  const rows = Math.ceil(nodes / columns);
  const at = (i, count) => (count === 1 ? 0 : (2 * i) / (count - 1) - 1);
  return Array.from({ length: nodes }, (_, i) => [at(i % columns, columns), at(Math.floor(i / columns), rows)]);
}

/** What hangs together on a circle of its own; these side by side. */
function groupPlaces(edges, nodes) {
  const group = Array.from({ length: nodes }, (_, i) => i);
  for (const [a, b] of edges) {
    const [low, high] = [Math.min(group[a], group[b]), Math.max(group[a], group[b])];
    group.forEach((each, i) => { if (each === high) group[i] = low; });
  }
  const names = [...new Set(group)];
  return group.map((name, i) => {
    const members = group.flatMap((each, j) => (each === name ? [j] : []));
    const [x, y] = circlePlaces(members.length)[members.indexOf(i)];
    return [2.9 * names.indexOf(name) + x, y];
  });
}

/** Leaves side by side, every parent above the middle of its children; what hangs on no edge stands beside. */
function treePlaces(edges, nodes) {
  const near = Array.from({ length: nodes }, () => []);
  for (const [a, b] of edges) {
    near[a].push(b);
    near[b].push(a);
  }
  const spot = new Array(nodes).fill(null);
  let leaves = 0;
  let deepest = 1;
  const hang = (site, depth) => {
    spot[site] = [0, depth];
    deepest = Math.max(deepest, depth);
    const children = near[site].filter((other) => spot[other] === null);
    const columns = children.filter((child) => spot[child] === null).map((child) => hang(child, depth + 1));
    spot[site][0] = columns.length ? (columns[0] + columns[columns.length - 1]) / 2 : leaves++;
    return spot[site][0];
  };
  for (let site = 0; site < nodes; site++) if (spot[site] === null) hang(site, 0);
  const wide = Math.max(1, leaves - 1);
  return spot.map(([column, depth]) => [leaves === 1 ? 0 : (2 * column) / wide - 1, (2 * depth) / deepest - 1]);
}

// The stage: sites in their structure, pointers as arrows that turn, messages that fly, the token at its place.
// SVG, since there are few things and each is to be pointed at.


const MOST_FLIGHTS = 120;
const MOST_EDGES = 300;
const TURNS = 320;
const NARROW = 260;

class Stage {
  constructor(player, look, r) {
    this.player = player;
    this.look = look;
    this.r = r;
    this.element = el("div", { class: "stage" });
    this.flights = new Map();
    this.pointers = new Map();
    this.hovered = null;
    new ResizeObserver(() => this.build()).observe(this.element);
  }

  get run() {
    return this.player.runs[this.r];
  }

  /** Everything that does not move, for the size that there is. */
  build() {
    const { width, height } = this.element.getBoundingClientRect();
    if (!width || !height) return;
    const { nodes, stage } = this.run;
    this.edition = this.run.edition;
    this.radius = clamp((Math.min(width, height) * 0.95) / (nodes + 5), 9, 30);
    const narrow = width < NARROW;
    const margin = this.radius + (nodes <= 16 ? 34 : 18);
    const [a, b] = [width / 2 - (narrow ? this.radius + 16 : margin + 10), height / 2 - margin];
    this.at = places(stage, nodes, Math.max(a, 10) / Math.max(b, 10)).map(([x, y]) => [width / 2 + x * Math.max(a, 10), height / 2 + y * Math.max(b, 10)]);
    this.roomy = nodes <= 12 && !narrow;
    this.svg = el("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Stage: ${nodes} sites as a ${stage.layout}` });
    this.layers = ["edges", "quorum", "tracks", "pointers", "sites", "flights"].map((name) => el("g", { class: name }));
    this.svg.append(this.arrowheads(), ...this.layers);
    this.drawEdges();
    this.sites = Array.from({ length: nodes }, (_, site) => this.buildSite(site));
    this.flights.clear();
    this.pointers.clear();
    this.layers[4].append(...this.sites.map((each) => each.group));
    this.element.replaceChildren(this.svg, this.key());
    this.drawn = null;
    this.player.changed();
  }

  arrowheads() {
    const head = (name) =>
      el("marker", { id: `head-${name}-${this.r}`, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 5.5, markerHeight: 5.5, orient: "auto-start-reverse" },
        el("path", { d: "M 0 1 L 10 5 L 0 9 Z", class: `head-${name}` }));
    return el("defs", {}, head("0"), head("1"), head("2"), head("edge"));
  }

  drawEdges() {
    const ring = this.run.stage.layout === "ring";
    for (const [from, to] of (this.run.stage.edges || []).slice(0, MOST_EDGES)) {
      const [x1, y1, x2, y2] = this.chord(from, to, ring ? 4 : 0);
      this.layers[0].append(el("line", { x1, y1, x2, y2, "marker-end": ring ? `url(#head-edge-${this.r})` : null }));
    }
  }

  /** Which arrow is which pointer. */
  key() {
    const names = paperNames(this.run.files);
    const called = (field, label) => (label && label !== field ? label : names.get(field)?.paper || field);
    const rows = (this.run.stage.pointers || []).map(({ field, label }, i) =>
      el("span", {}, el("svg", { viewBox: "0 0 26 8", "aria-hidden": "true" }, el("path", { d: "M 0 4 H 24", class: `pointer pointer-${i % 3}`, "marker-end": `url(#head-${i % 3}-${this.r})` })), called(field, label)));
    return el("p", { class: "stage-key" }, ...rows);
  }

  /** The line between the rims of two sites. */
  chord(from, to, gap = 0) {
    const [[x1, y1], [x2, y2]] = [this.at[from], this.at[to]];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [dx, dy] = [((x2 - x1) / length) * (this.radius + gap), ((y2 - y1) / length) * (this.radius + gap)];
    return [x1 + dx, y1 + dy, x2 - dx, y2 - dy];
  }

  buildSite(site) {
    const [x, y] = this.at[site];
    const r = this.radius;
    const name = this.run.names[site];
    const parts = {
      glow: el("circle", { r: r + 7, class: "glow" }),
      body: el("circle", { r, class: "body" }),
      name: el("text", { class: "name", y: 0, "font-size": clamp(Math.min(0.8, 2.8 / Math.min(name.length, 6)) * r, name.length > 2 ? 7 : 9, 18) }, name.slice(0, 6)),
      fault: el("path", { class: "fault" }),
      token: el("path", { d: shapePath("star", clamp(r * 0.42, 6, 11)), class: "token", transform: `translate(${r * 0.8} ${-r * 0.8})` }),
      tokens: el("text", { class: "tokens", x: r * 0.8, y: -r * 0.8 + 3.5 }),
      below: el("text", { class: "below", y: r + 17 }),
      title: el("title"),
    };
    const group = el("g", {
      class: "site", transform: `translate(${x} ${y})`, tabindex: "0", role: "button",
      onclick: () => this.pick(site),
      onkeydown: (event) => (event.key === "Enter" ? this.pick(site) : undefined),
      onpointerenter: () => this.hover(site), onpointerleave: () => this.hover(null),
      onfocus: () => this.hover(site), onblur: () => this.hover(null),
    }, ...Object.values(parts));
    return { group, ...parts };
  }

  pick(site) {
    this.player.active = this.r;
    this.player.site = this.player.site === site ? null : site;
    this.player.touch();
  }

  hover(site) {
    this.hovered = site;
    this.drawQuorum();
  }

  /** The quorum of the site that is pointed at or picked: its members ringed, and a line to each. */
  drawQuorum() {
    const { quorums } = this.run.stage;
    const site = this.hovered ?? (this.player.active === this.r ? this.player.site : null);
    const members = quorums && site !== null ? quorums[site] || [] : [];
    const rings = members.map((member) => el("circle", { cx: this.at[member][0], cy: this.at[member][1], r: this.radius + 7 }));
    const lines = members.filter((member) => member !== site).map((member) => {
      const [x1, y1, x2, y2] = this.chord(site, member, 7);
      return el("line", { x1, y1, x2, y2 });
    });
    this.layers[1].replaceChildren(...lines, ...rings);
  }

  draw(now) {
    if (!this.svg) return false;
    const n = this.player.at(this.r);
    if (this.edition !== this.run.edition) this.build();
    const key = `${n}:${this.player.version}`;
    if (key !== this.drawn) {
      this.drawn = key;
      this.drawSites(n);
      this.aimPointers(n, now);
      this.drawQuorum();
    }
    this.drawFlights(n);
    return this.turnPointers(now);
  }

  drawSites(n) {
    const state = this.run.stateAt(n);
    const step = this.run.steps[n];
    const crowded = insideOf(state).length > (this.run.head.k || 1);
    this.sites.forEach((parts, site) => {
      const up = state.up[site];
      const phase = up === "down" ? "down" : state.phase[site];
      const classes = ["site", phase, up === "paused" && "paused", site === siteOf(step) && "acting", site === this.player.site && "picked", crowded && phase === "inside" && "bad"];
      parts.group.setAttribute("class", classes.filter(Boolean).join(" "));
      const r = this.radius * 0.5;
      parts.fault.setAttribute("d", up === "down" ? `M ${-r} ${-r} L ${r} ${r} M ${-r} ${r} L ${r} ${-r}` : up === "paused" ? `M ${-1.25 * r} ${-0.8 * r} V ${0.8 * r} M ${1.25 * r} ${-0.8 * r} V ${0.8 * r}` : "");
      this.drawToken(parts, site, state, n);
      this.drawBelow(parts, state.fields[site]);
      const why = state.why[site] ? `, ${state.why[site]}` : "";
      const label = `Site ${this.run.names[site]}: ${up === "up" ? "" : `${up}, `}${state.phase[site]}${why}`;
      setText(parts.title, label);
      parts.group.setAttribute("aria-label", label);
    });
  }

  drawToken(parts, site, state, n) {
    const { token } = this.run.stage;
    const value = token ? (token.field ? state.fields[site][token.field] : this.tokenRests(site, n)) : false;
    const kept = Array.isArray(value) ? value.length : Number(value === true || Number.isInteger(value)); // a number is the token's name
    const count = kept + Number(Boolean(token && token.inside) && state.phase[site] === "inside");
    parts.token.style.display = count ? "" : "none";
    setText(parts.tokens, count > 1 && typeof value !== "boolean" ? String(count) : "");
  }

  /** Where no field says who has the token: who got it last and has not sent it since. */
  tokenRests(site, n) {
    const { kinds } = this.run.stage.token;
    const steps = this.run.ofSite[site];
    for (let i = steps.length - 1; i >= 0; i--) {
      if (steps[i] > n) continue;
      const step = this.run.steps[steps[i]];
      if ((step.sent || []).some((sent) => kinds.includes(sent.kind))) return false;
      const got = step.what === "deliver" && this.run.messages.get(step.message);
      if (got && kinds.includes(got.kind)) return true;
    }
    const [first] = this.run.stage.pointers || []; // at the beginning it is where the pointers end
    return Boolean(first) && this.run.steps[0].states?.[site]?.[first.field] === site;
  }

  drawBelow(parts, fields) {
    const { queue } = this.run.stage;
    const kept = queue && this.roomy ? fields[queue] : null;
    const value = kept && !Array.isArray(kept) && typeof kept === "object" ? inOrder(kept) : kept;
    const text = Array.isArray(value) && value.some((each) => each !== 0) ? show(value) : "";
    setText(parts.below, text.length > 22 ? `${text.slice(0, 21)}…` : text);
  }

  // Pointers.

  /** Every pointer is told where to point from now on; it turns there in the frames that follow. */
  aimPointers(n, now) {
    const { fields } = this.run.stateAt(n);
    const alive = new Set();
    (this.run.stage.pointers || []).forEach(({ field, label, many, index }, i) => {
      fields.forEach((values, site) => {
        const value = index == null ? values[field] : (values[field] || [])[index];
        const one = Array.isArray(value) ? value[value.length - 1] : value; // a request is (number, site)
        for (const to of many ? value || [] : [one]) {
          if (!Number.isInteger(to) || !this.at[to]) continue;
          const key = many ? `${i}:${site}:${to}` : `${i}:${site}`;
          alive.add(key);
          this.aim(key, i, site, to, `${label || field} of ${this.run.names[site]}: ${this.run.names[to]}`, now);
        }
      });
    });
    for (const [key, pointer] of this.pointers) {
      if (alive.has(key)) continue;
      pointer.path.remove();
      this.pointers.delete(key);
    }
  }

  aim(key, i, site, to, text, now) {
    let pointer = this.pointers.get(key);
    const goal = this.tipOf(i, site, to);
    if (!pointer) {
      const title = el("title");
      const path = el("path", { class: `pointer pointer-${i % 3}`, "marker-end": `url(#head-${i % 3}-${this.r})` }, title);
      pointer = { path, title, site, i, tip: goal, from: goal, goal, began: -Infinity };
      this.pointers.set(key, pointer);
      this.layers[3].append(path);
      this.drawPointer(pointer);
    }
    setText(pointer.title, text);
    if (goal.x === pointer.goal.x && goal.y === pointer.goal.y) return;
    Object.assign(pointer, { from: pointer.tip, goal, began: this.player.motion ? now : -Infinity });
  }

  /** The point of an arrow: at the rim of the site it points to, or a loop beside its own. */
  tipOf(i, site, to) {
    const [x, y] = this.at[to];
    const bend = 0.1 + 0.08 * i;
    if (site === to) return { x, y, loop: true, bend };
    const [fromX, fromY] = this.at[site];
    const angle = Math.atan2(fromY - y, fromX - x) + 0.28 + 0.2 * i;
    const aside = this.blocked(site, to) ? 0.25 : 0;
    return { x: x + (this.radius + 3) * Math.cos(angle + aside), y: y + (this.radius + 3) * Math.sin(angle + aside), loop: false, bend: bend + 1.2 * aside };
  }

  /** Whether another site is in the way between two: an arrow goes round it. */
  blocked(from, to) {
    const [[x1, y1], [x2, y2]] = [this.at[from], this.at[to]];
    const [dx, dy] = [x2 - x1, y2 - y1];
    return this.at.some(([x, y], site) => {
      if (site === from || site === to) return false;
      const part = clamp(((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1), 0, 1);
      return Math.hypot(x1 + part * dx - x, y1 + part * dy - y) < this.radius + 6;
    });
  }

  turnPointers(now) {
    let moving = false;
    for (const pointer of this.pointers.values()) {
      const { tip, goal } = pointer;
      if (tip === goal) continue;
      const part = clamp((now - pointer.began) / TURNS, 0, 1);
      const eased = part * part * (3 - 2 * part);
      const between = (a, b) => a + (b - a) * eased;
      pointer.tip = part >= 1 ? goal : { x: between(pointer.from.x, goal.x), y: between(pointer.from.y, goal.y), bend: between(pointer.from.bend, goal.bend), loop: false };
      this.drawPointer(pointer);
      moving = moving || part < 1;
    }
    return moving;
  }

  drawPointer({ path, site, i, tip }) {
    const [x, y] = this.at[site];
    const r = this.radius;
    if (tip.loop) {
      const out = this.loopAngle(x, y) - 0.5 * i;
      const on = (angle, far) => `${(x + far * Math.cos(angle)).toFixed(1)} ${(y + far * Math.sin(angle)).toFixed(1)}`;
      path.setAttribute("d", `M ${on(out - 0.45, r)} C ${on(out - 0.6, r * 2)} ${on(out + 0.6, r * 2)} ${on(out + 0.45, r + 2)}`);
      return;
    }
    const angle = Math.atan2(tip.y - y, tip.x - x) - 0.28 - 0.2 * i - 2 * Math.max(0, tip.bend - 0.3);
    const [fromX, fromY] = [x + r * Math.cos(angle), y + r * Math.sin(angle)];
    const length = Math.hypot(tip.x - fromX, tip.y - fromY);
    const [midX, midY] = [(fromX + tip.x) / 2 + tip.bend * (tip.y - fromY), (fromY + tip.y) / 2 - tip.bend * (tip.x - fromX)];
    path.setAttribute("d", `M ${fromX.toFixed(1)} ${fromY.toFixed(1)} Q ${midX.toFixed(1)} ${midY.toFixed(1)} ${tip.x.toFixed(1)} ${tip.y.toFixed(1)}`);
    path.style.opacity = length < 2 ? 0 : "";
  }

  /** A loop is at the outer side of its site, but neither over the token nor over what is written below. */
  loopAngle(x, y) {
    const { width, height } = this.svg.viewBox.baseVal;
    const out = Math.atan2(y - height / 2, x - width / 2);
    if (Math.abs(out - Math.PI / 2) < 0.9) return out < Math.PI / 2 ? Math.PI / 2 - 0.9 : Math.PI / 2 + 0.9;
    return Math.abs(out + Math.PI / 4) < 0.9 ? -Math.PI / 4 - 0.9 : out;
  }

  // Messages.

  drawFlights(n) {
    const place = this.player.place(this.r);
    const step = this.run.steps[n];
    const arriving = this.player.glide ? this.run.messages.get(step.message) : null;
    const flying = this.run.inFlight(n).filter((message) => this.player.shows(message)).slice(0, MOST_FLIGHTS);
    if (arriving && arriving.end === n && this.player.shows(arriving)) flying.push(arriving);
    const crowd = new Map();
    const alive = new Set();
    for (const message of flying) {
      const part = this.progress(message, place);
      const link = `${message.from}>${message.to}:${Math.round(part * 5)}`;
      crowd.set(link, (crowd.get(link) || 0) + 1);
      alive.add(message.id);
      this.moveFlight(message, part, crowd.get(link) - 1);
    }
    part([...this.flights.values()], this.at.map(([x, y], site) => below(this.sites[site].below.textContent, x, y + this.radius)));
    for (const [id, flight] of this.flights) {
      if (alive.has(id)) continue;
      flight.group.remove();
      flight.track.remove();
      this.flights.delete(id);
    }
  }

  /** How far a message has got: by where it will arrive, or, if nobody knows, nearer and nearer to half-way. */
  progress(message, place) {
    const { axis } = this.player;
    const sent = this.run.place(message.sent, axis);
    if (message.end !== null) {
      const end = this.run.place(message.end, axis);
      const part = end > sent ? clamp((place - sent) / (end - sent), 0, 1) : 1;
      return (message.lost ? 0.6 : 0.92) * part + 0.04;
    }
    const age = Math.max(0, this.player.at(this.r) - message.sent);
    return 0.5 - 0.42 / (1 + age / 4);
  }

  moveFlight(message, part, beside) {
    const flight = this.flights.get(message.id) || this.newFlight(message);
    const [x1, y1, x2, y2] = this.chord(message.from, message.to, 6);
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const aside = 13 * beside;
    const x = x1 + (x2 - x1) * part + (-(y2 - y1) / length) * aside;
    const y = y1 + (y2 - y1) * part + ((x2 - x1) / length) * aside;
    flight.group.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    flight.group.classList.toggle("doomed", message.lost);
    flight.spot = [x, y];
    if (flight.label) placeBeside(flight, this.svg.viewBox.baseVal.width, this.at, this.radius);
  }

  newFlight(message) {
    const { look, run } = this;
    const isToken = run.stage.token && (run.stage.token.kinds || []).includes(message.kind);
    const r = isToken ? 9 : 6;
    const shape = el("path", { d: shapePath(isToken ? "star" : look.shape(message.kind), r), fill: look.colour(message.kind) });
    const text = `${showMessage(message)} from ${run.names[message.from]} to ${run.names[message.to]}`;
    const label = this.roomy ? el("text", { x: r + 3, y: 4, fill: look.colour(message.kind) }, message.kind) : null;
    const group = el("g", { class: isToken ? "flight carries-token" : "flight", onclick: (event) => this.pickFlight(message, event) }, shape, label, el("title", {}, text));
    this.layers[5].append(group);
    const flight = { group, label, r, track: this.newTrack(message) };
    this.flights.set(message.id, flight);
    return flight;
  }

  /** The way that a message goes: from its sender to its addressee. */
  newTrack(message) {
    const [x1, y1, x2, y2] = this.chord(message.from, message.to, 3);
    const track = el("line", { x1, y1, x2, y2, stroke: this.look.colour(message.kind) });
    this.layers[2].append(track);
    return track;
  }

  /** A click on a message selects where it was sent; in play mode it is delivered, or dropped with shift. */
  pickFlight(message, event) {
    if (this.player.game && this.player.game.pickMessage(this.r, message, event.shiftKey)) return;
    this.player.select(this.r, message.sent);
  }
}

/** A queue that is kept as a number for each site: first the lowest. */
function inOrder(numbers) {
  return Object.entries(numbers).map(([site, number]) => [number, Number(site)]).sort(([a, i], [b, j]) => a - b || i - j);
}

// The page of watch: reads the trace that it carries, or asks the server for one, and puts the views together.
//
// Data: `window.SOLOIST` is {head, steps} or {gzip: "…base64 of the same as JSON…"}; where it is missing, the page
// fetches `api/run` beside it. A second run to be shown beside the first is `beside: {head, steps}`.


const PANELS = { score: "Score", stage: "Stage", inspector: "Inspector", source: "Source", game: "Play" };

class Page {
  constructor(root, data) {
    const runs = readRuns(data);
    this.gone = new AbortController();
    this.player = new Player(runs);
    this.look = new Look(runs);
    this.panelNames = Object.keys(PANELS).filter((name) => name !== "game" || data.play);
    this.game = data.play ? new Game(this.player, data.play, { reload: (other) => this.reload(root, other), gone: this.gone.signal, taken: () => this.retitle() }) : null;
    this.player.game = this.game;
    this.closed = [];
    this.scores = runs.map((_, r) => new Score(this.player, this.look, r));
    this.stages = runs.map((_, r) => new Stage(this.player, this.look, r));
    this.inspector = new Inspector(this.player, this.look);
    this.source = new Source(this.player);
    this.filters = new Filters(this.player, this.look);
    this.transport = new Transport(this.player, this.look);
    this.keys = new Keys(this.player, this);
    this.address = new Address(this.player, this);
    this.build(root, runs);
    this.player.views = [...this.scores, ...this.stages, this.inspector, this.source, this.filters, this.transport, this.address, ...(this.game ? [this.game] : [])];
    this.watchTheme();
    this.address.read();
    if (this.game && runs[0].head.origin === "script" && !/\bstep=/.test(location.hash)) this.player.goTo(0, runs[0].length - 1);
  }

  /** Another run in place of this one, which hears of nothing any more. */
  reload(root, data) {
    this.player.views = [];
    this.player.pause();
    this.gone.abort();
    history.replaceState(null, "", "#");
    window.soloistPage = new Page(root, data);
    window.soloistPage.game?.actions.focus({ preventScroll: true }); // the button that was pressed is gone
  }

  get searchBox() {
    return this.filters.box;
  }

  build(root, runs) {
    this.panels = {
      score: this.panel("score", this.scores.map((score) => score.element), this.zoomButtons()),
      stage: this.panel("stage", this.stages.map((stage) => stage.element)),
      inspector: this.panel("inspector", [this.inspector.element], runs.length > 1 ? this.runSwitch() : null),
      source: this.panel("source", [this.source.element]),
      ...(this.game ? { game: this.panel("game", [this.game.element]) } : {}),
    };
    this.reopen = el("div", { class: "reopen", role: "group", "aria-label": "Closed panels" });
    this.desk = el("main", { class: this.game ? "desk playing" : "desk" }, ...Object.values(this.panels));
    fill(root, this.header(runs), this.filters.element, this.desk, this.transport.element, this.keys.help);
    document.title = `${runs.map(titleOf).join(" beside ")} · Soloist`;
  }

  /** What is told of a run changes while it is played. */
  retitle() {
    this.abouts.forEach((about_, r) => { about_.textContent = about(this.player.runs[r]); });
  }

  header(runs) {
    this.abouts = runs.map((run) => el("p", { class: "about" }, about(run)));
    this.motionButton = el("button", { id: "motion", onclick: () => this.toggleMotion() });
    this.showMotion();
    return el("header", {},
      el("div", { class: "titles" }, ...runs.map((run, r) => el("div", {}, el("h1", {}, titleOf(run)), this.abouts[r]))),
      el("div", { class: "tools" }, this.reopen, this.motionButton,
        el("button", { id: "help", "aria-label": "Help: the keys", title: "Keys (?)", onclick: () => this.keys.help.showModal() }, "?")),
      el("div", { class: "story" },
        ...runs.map((run) => (run.head.finding ? el("p", { class: "finding", role: "note" }, el("b", {}, run.head.finding.property), ` ${run.head.finding.text}`) : null)),
        ...runs.flatMap((run) => (run.head.notes || []).map((note) => el("p", { class: "note" }, note)))));
  }

  panel(name, content, extra = null) {
    const close = el("button", { class: "close", "aria-label": `Close ${PANELS[name].toLowerCase()}`, title: "Close", onclick: () => this.togglePanel(name) }, "×");
    return el("section", { class: `panel panel-${name}`, "aria-label": PANELS[name], id: `panel-${name}` },
      el("div", { class: "panel-head" }, el("h2", {}, PANELS[name]), extra, close), el("div", { class: "panel-body" }, ...content));
  }

  zoomButtons() {
    const zoom = (label, sign, action) => el("button", { class: "small", "aria-label": label, title: label, onclick: action }, sign);
    return el("div", { class: "zooms" },
      zoom("Zoom out (−)", "−", () => this.scores.forEach((score) => score.zoom(1 / 1.4))),
      zoom("Zoom in (+)", "+", () => this.scores.forEach((score) => score.zoom(1.4))),
      zoom("All of the run (f)", "all", () => this.fit()));
  }

  runSwitch() {
    return el("div", { class: "zooms" }, ...this.player.runs.map((run, r) =>
      el("button", { class: "small", onclick: () => { this.player.active = r; this.player.touch(); } }, titleOf(run))));
  }

  fit() {
    this.scores.forEach((score) => score.showAll());
    this.player.touch();
  }

  togglePanel(name) {
    const closed = this.closed.includes(name) ? this.closed.filter((each) => each !== name) : [...this.closed, name];
    const there = this.panels[name].contains(document.activeElement) || this.reopen.contains(document.activeElement);
    this.closePanels(closed);
    const button = closed.includes(name) ? this.reopen.querySelector(`[data-panel=${name}]`) : this.panels[name].querySelector(".close");
    if (there) button.focus();
    this.player.touch();
  }

  closePanels(names) {
    this.closed = this.panelNames.filter((name) => names.includes(name));
    for (const name of this.panelNames) this.panels[name].hidden = this.closed.includes(name);
    this.desk.dataset.closed = this.closed.join(" ");
    fill(this.reopen, ...this.closed.map((name) => el("button", { class: "small", "data-panel": name, "aria-label": `Open ${PANELS[name].toLowerCase()}`, onclick: () => this.togglePanel(name) }, `+ ${PANELS[name]}`)));
  }

  toggleMotion() {
    this.player.motion = !this.player.motion;
    this.showMotion();
    this.player.touch();
  }

  showMotion() {
    const on = this.player.motion;
    this.motionButton.textContent = on ? "motion on" : "motion off";
    this.motionButton.setAttribute("aria-pressed", String(on));
    document.documentElement.classList.toggle("still", !on);
  }

  /** Canvas does not follow the style sheet by itself; and paper is light. */
  watchTheme() {
    const again = () => {
      this.look.read();
      for (const stage of this.stages) stage.build();
      this.inspector.drawn = null;
      this.player.touch();
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again, { signal: this.gone.signal });
    const paper = (on) => {
      document.documentElement.classList.toggle("paper", on);
      again();
      this.player.draw(performance.now());
    };
    window.addEventListener("beforeprint", () => paper(true), { signal: this.gone.signal });
    window.addEventListener("afterprint", () => paper(false), { signal: this.gone.signal });
  }
}

const count = (number, one, many) => `${number} ${number === 1 ? one : many}`;

function about(run) {
  const { head } = run;
  const options = Object.entries(head.options || {}).filter(([, value]) => value !== "").map(([name, value]) => `${name} ${value}`);
  return [count(head.nodes, "site", "sites"), head.k > 1 && `K = ${head.k}`, ...options, head.channels === "fifo" ? "FIFO links" : "unordered links",
    head.lock && `lock ${head.lock}`, head.origin, head.seed !== null && head.seed !== undefined && `seed ${head.seed}`,
    count(run.length, "step", "steps"), count(run.messages.size, "message", "messages"), count(run.entries.length, "entry", "entries")].filter(Boolean).join(" · ");
}

/** What the page was given: embedded, embedded and packed, or from the server. */
async function load() {
  const carried = window.SOLOIST;
  if (carried && carried.gzip) return unpack(carried.gzip);
  if (carried) return carried;
  if (location.protocol === "file:") throw new TraceError("this file carries no run: it is cut off or damaged");
  const data = await askRun();
  const shared = new URLSearchParams(location.hash.slice(1)).get("play");
  return shared && data.play && data.play.fragment !== shared ? callServer("new", { shared }) : data;
}

async function askRun() {
  const answer = await fetch("api/run");
  if (!answer.ok) throw new TraceError(`the server gave no run: ${answer.status} ${(await answer.text()).slice(0, 200)}`);
  const text = await answer.text();
  return answer.headers.get("content-type")?.includes("ndjson") ? parseLines(text) : JSON.parse(text);
}

async function unpack(base64) {
  if (typeof DecompressionStream === "undefined") {
    throw new TraceError("this browser is too old to unpack the run; those since May 2023 can");
  }
  try {
    const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
    return await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  } catch (error) {
    throw new TraceError(`what this file carries is damaged (${error.message})`);
  }
}

/** An error is shown in the page, above whatever still works. */
function showError(error) {
  const box = document.getElementById("error");
  box.hidden = false;
  const foreign = !(error instanceof TraceError);
  fill(box, el("b", {}, foreign ? "Something went wrong in this page: " : "This run cannot be shown: "), error && error.message ? error.message : String(error));
}

async function start() {
  window.addEventListener("error", (event) => showError(event.error || event.message));
  window.addEventListener("unhandledrejection", (event) => showError(event.reason));
  try {
    const data = await load();
    window.soloistPage = new Page(document.getElementById("page"), data);
    performance.mark("soloist-ready");
  } catch (error) {
    showError(error);
  }
}

start();
})();
