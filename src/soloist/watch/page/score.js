// The score: time runs across, a lane per site. Drawn on canvas, and only what is in view, so that ten thousand
// steps scrub as smoothly as ten.

import { clamp, el } from "./dom.js";
import { GUTTER, RULER, ScoreDrawing } from "./drawing.js";
import { siteOf } from "./trace.js";
import { describe, showMessage } from "./words.js";

const NEAR = 9;
const WIDEST = 3;
const LOWEST = 15;

export class Score extends ScoreDrawing {
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
