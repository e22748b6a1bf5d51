// The row of filters, which is also the legend: kinds of messages and sites, each a button, and the search.

import { el, fill, setText } from "./dom.js";
import { shapePath } from "./look.js";
import { search } from "./words.js";

const MOST_SITES = 40;

export class Filters {
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
