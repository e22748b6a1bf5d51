// The inspector: what this step did in words, every site's variables under the paper's names with changes marked,
// why each waiting site waits, and what is on its way.

import { el, fill, refill, setText } from "./dom.js";
import { shapePath } from "./look.js";
import { siteOf } from "./trace.js";
import { changed, describe, paperNames, show, showMessage } from "./words.js";

const MOST_ROWS = 12;
const MOST_LISTED = 40;

export class Inspector {
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
