// The page of watch: reads the trace that it carries, or asks the server for one, and puts the views together.
//
// Data: `window.SOLOIST` is {head, steps} or {gzip: "…base64 of the same as JSON…"}; where it is missing, the page
// fetches `api/run` beside it. A second run to be shown beside the first is `beside: {head, steps}`.

import { Address } from "./address.js";
import { el, fill } from "./dom.js";
import { Filters } from "./filters.js";
import { Inspector } from "./inspector.js";
import { Keys } from "./keys.js";
import { Look } from "./look.js";
import { callServer, Game } from "./play.js";
import { Player } from "./player.js";
import { Score } from "./score.js";
import { Source } from "./source.js";
import { Stage } from "./stage.js";
import { parseLines, readRuns, TraceError } from "./trace.js";
import { Transport } from "./transport.js";
import { titleOf } from "./words.js";

const PANELS = { score: "Score", stage: "Stage", inspector: "Inspector", source: "Source", game: "Play" };

export class Page {
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
export function showError(error) {
  const box = document.getElementById("error");
  box.hidden = false;
  const foreign = !(error instanceof TraceError);
  fill(box, el("b", {}, foreign ? "Something went wrong in this page: " : "This run cannot be shown: "), error && error.message ? error.message : String(error));
}

export async function start() {
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
