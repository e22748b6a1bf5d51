// Play mode: the run is not over, and who looks decides what happens next. The page asks a server; these are the calls.
//
//   GET  api/run                                  {head, steps, play}: the run, and Play where one may play
//   POST api/act     {branch, at, action}         {steps, play}: the action (its id) done after step `at`; the steps of
//                                                 the whole branch are given back. Where `at` is not the last step of
//                                                 the branch, the answer is about a new branch that leaves it there
//   POST api/state   {branch, at}                 {play}: what is possible, and what holds, after an earlier step
//   POST api/branch  {branch}                     {steps, play}: another branch is shown
//   POST api/search  {branch, at, states}         {text, steps, play}: a bad run from here, as a new branch; where none
//                                                 was found, `text` says what was searched, and `steps` is null
//   POST api/hint    {branch, at}                 {text, action}: one step of a shortest bad run, or null
//   POST api/new     {algorithm, nodes, k, …}     {head, steps, play}: another run, or a puzzle by {puzzle: id}
//
//   Play      {branch, branches: [{id, title}], actions: [Action], properties: [{name, text, state}], puzzle, puzzles,
//              algorithms: [{name, title}]}       state is "holds", "broken" or "open"; the last three may be missing
//   Action    {id, what, site, message, timer, text}    what as in a step; message is the id that it is about
//   puzzle    {id, title, goal, best, used, solved, explanation}
//
// An answer that is not 2xx is one line of text, and is shown. Whoever serves the page identifies the reader by a
// cookie of the same origin, so no call carries a token.

import { el, fill } from "./dom.js";

const BOUND = 200000;
const LIGHTS = { holds: "●", broken: "✕", open: "○" };

/** The calls, by `fetch`. */
export async function callServer(name, body) {
  const answer = await fetch(`api/${name}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error((await answer.text()).slice(0, 300) || `the server answered ${answer.status}`);
  return answer.json();
}

/** What one can do in play mode: the panel with its actions, lights, branches and puzzles. */
export class Game {
  constructor(player, play, { call = callServer, reload }) {
    this.player = player;
    this.call = call;
    this.reload = reload;
    this.play = play;
    this.shownAt = player.runs[0].length - 1;
    this.tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Branches" });
    this.lights = el("ul", { class: "lights", "aria-label": "Properties" });
    this.actions = el("div", { class: "actions", role: "group", "aria-label": "What can happen next" });
    this.said = el("p", { class: "said", role: "status" });
    this.puzzle = el("div", { class: "puzzle" });
    this.element = el("div", { class: "game" }, this.tabs, this.puzzle, this.lights, this.actions, this.help(), this.said);
  }

  help() {
    const button = (id, text, action) => el("button", { id, onclick: action }, text);
    return el("div", { class: "helpers" }, button("bad-run", "Find me a bad run from here", () => this.search()), button("hint", "Hint", () => this.hint()));
  }

  get at() {
    return this.player.at(0);
  }

  get body() {
    return { branch: this.play.branch, at: this.at };
  }

  /** One call at a time; what goes wrong is said, and changes nothing. */
  async ask(name, body) {
    if (this.busy) return null;
    this.busy = true;
    this.element.setAttribute("aria-busy", "true");
    try {
      const answer = await this.call(name, body);
      if (name !== "state") fill(this.said, answer.text || "");
      return answer;
    } catch (error) {
      fill(this.said, error.message);
      return null;
    } finally {
      this.busy = false;
      this.element.removeAttribute("aria-busy");
      this.player.touch();
    }
  }

  async act(action) {
    const answer = await this.ask("act", { ...this.body, action: action.id });
    if (answer) this.take(answer, this.at + 1);
  }

  async search() {
    const answer = await this.ask("search", { ...this.body, states: BOUND });
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

  async begin(settings) {
    const answer = await this.ask("new", settings);
    if (answer) this.reload(answer);
  }

  take({ steps, play }, at) {
    this.play = play;
    this.hinted = null;
    this.player.runs[0].replace(steps);
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
      const answer = await this.ask("state", this.body);
      if (!answer) return;
      this.play = answer.play;
      this.shownAt = at;
      this.player.touch();
    }, 200);
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
    fill(this.tabs, ...play.branches.map(({ id, title }) => el("button", { role: "tab", "aria-selected": String(id === play.branch), onclick: () => this.show(id) }, title)));
    fill(this.lights, ...play.properties.map(({ name, text, state }) => el("li", { class: state, title: text }, `${LIGHTS[state] || "○"} ${name}: ${state}`)));
    const stale = this.at !== this.shownAt;
    fill(this.actions, ...(stale ? [] : play.actions.map((action) => el("button", { class: action.id === this.hinted ? "hinted" : "", "data-action": action.id, onclick: () => this.act(action) }, action.text))));
    this.drawPuzzle(play.puzzle);
    return false;
  }

  drawPuzzle(puzzle) {
    const { puzzles = [] } = this.play;
    const choice = puzzles.length ? el("select", { "aria-label": "Beat the paper: choose a puzzle", onchange: (event) => event.target.value && this.begin({ puzzle: event.target.value }) },
      el("option", { value: "" }, "Beat the paper …"), ...puzzles.map(({ id, title, best }) => el("option", { value: id, selected: puzzle && puzzle.id === id }, `${title} (best known: ${best} steps)`))) : null;
    fill(this.puzzle, choice, puzzle ? el("p", {}, el("b", {}, puzzle.title), ` ${puzzle.goal} Best known: ${puzzle.best} steps; yours so far: ${puzzle.used}.`) : null,
      puzzle && puzzle.solved ? el("p", { class: "solved" }, `Beaten. ${puzzle.explanation || ""}`) : null);
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
