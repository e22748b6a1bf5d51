// A trace of version 2, made ready for looking: messages know both their ends, the state at any step is a fold
// from the key frame before it, and causality is program order plus messages.

export const FRAME_EVERY = 200;
const MOST_NODES = 10000;
export const SELF = 3;
export const PAST = 1;
export const FUTURE = 2;

/** What is wrong with a trace, in one line for whoever looks at the page. */
export class TraceError extends Error {}

/** The runs of what a page was given: one, or two where another is set beside it. */
export function readRuns(data) {
  if (data === null || typeof data !== "object") throw new TraceError("this is no trace: an object with head and steps was expected");
  const other = data.beside || (data.head && data.head.beside);
  return [data, other].filter(Boolean).map(({ head, steps }) => new Run(head, steps));
}

/** The same objects, one a line, as `soloist watch --export jsonl` writes them. */
export function parseLines(text) {
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

export class Run {
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
export function siteOf({ site, what }) {
  return Number.isInteger(site) && !ABOUT_ALL.has(what) ? site : null;
}

/** Who has crashed inside is not inside. */
export function insideOf({ phase, up }) {
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
