// The keyboard, and the help that lists it.

import { el } from "./dom.js";
import { toggleAxis } from "./transport.js";

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

export class Keys {
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
