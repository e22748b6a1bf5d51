// The transport: first, back, play, forward, last and speed; and the minimap of the whole run, which is the slider.

import { clamp, el, setText } from "./dom.js";
import { SPEEDS } from "./player.js";

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

export class Transport {
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
export function toggleAxis(player) {
  const n = player.at();
  player.axis = player.axis === "time" ? "step" : "time";
  player.lay();
  player.moment = Math.max(0, player.momentOf(player.active, n));
  player.position = player.moment;
  player.glide = null;
  player.touch();
}
