// The position in the fragment of the address, so that a link leads to exactly this moment and selection. Words of
// the fragment that this page does not know, such as those of play mode, are left as they are.

import { search } from "./words.js";

const OWN = ["step", "select", "site", "axis", "run", "hide", "without", "q", "closed"];

export class Address {
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
