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

import { el, fill, refill } from "./dom.js";
import { search } from "./words.js";

const BOUND = 200000;
const MISHAPS = new Set(["lose", "duplicate", "crash", "restart", "pause", "resume"]);
const FEW = 4;
const LIGHTS = { holds: "●", broken: "✕", open: "○" };

/** The calls, by `fetch`. */
export async function callServer(name, body) {
  const answer = await fetch(`api/${name}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }).catch(() => {
    throw new Error("The server of this page does not answer: it ends with its command, soloist watch. Share gives a command that starts it again with this run.");
  });
  if (!answer.ok) throw new Error((await answer.text()).slice(0, 300) || `the server answered ${answer.status}`);
  return answer.json();
}

/** What one can do in play mode: the panel with its actions, lights, branches and puzzles. */
export class Game {
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
