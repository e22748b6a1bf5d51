// The score: time runs across, a lane per site. Drawn on canvas, and only what is in view, so that ten thousand
// steps scrub as smoothly as ten.

import { clamp, el } from "./dom.js";
import { traceShape } from "./look.js";
import { describe, showMessage } from "./words.js";

const GUTTER = 64;
const RULER = 22;
const MOST_ARROWS = 1500;
const NEAR = 9;
const FAULTS = new Set(["crash", "restart", "pause", "resume", "lose", "duplicate", "cut", "heal"]);

export class Score {
  constructor(player, look, r) {
    this.player = player;
    this.look = look;
    this.r = r;
    this.scale = null;
    this.left = 0;
    this.top = 0;
    this.follow = true;
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
    return clamp(room / this.run.nodes, 22, 90);
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

  zoom(by, around = null) {
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
    if (this.scale === null) this.open();
    const x = this.x(this.player.place(this.r));
    const [low, high] = [GUTTER + 0.12 * (this.width - GUTTER), GUTTER + 0.78 * (this.width - GUTTER)];
    if (!this.follow || (x >= low && x <= high)) return;
    const [first, last] = this.extent;
    const wanted = this.left + (x - (x < low ? low : high)) / this.scale;
    const most = Math.max(first - 12 / this.scale, last - (this.width - GUTTER - 40) / this.scale);
    this.left = clamp(wanted, first - 12 / this.scale, most);
  }

  open() {
    this.fit();
    if (this.scale < this.natural() * 0.6) this.scale = this.natural();
    this.left = this.extent[0] - 12 / this.scale;
  }

  draw() {
    if (!this.width) return false;
    this.keepInView();
    const { player, run } = this;
    const key = [player.position, player.moment, this.left, this.scale, this.top, player.version, this.width, this.height, run.length].join();
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

  drawView(context) {
    const [from, to] = this.stepsInView();
    this.refreshBackdrop(from, to);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.backdrop, 0, 0);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.save();
    this.clip(context);
    this.drawMessages(context, this.messagesOfNow(), this.player.cone(this.r), true);
    this.drawFuture(context);
    if (!this.dense) this.drawLabels(context);
    this.drawPlayhead(context);
    context.restore();
    this.drawNames(context);
  }

  clip(context) {
    context.beginPath();
    context.rect(GUTTER - 6, 0, this.width, this.height);
    context.clip();
  }

  /** All that does not depend on the playhead, drawn anew only when the view or the selection has changed. */
  refreshBackdrop(from, to) {
    const { player } = this;
    const key = [this.left, this.scale, this.top, player.version, player.axis, this.width, this.height, this.run.length].join();
    if (this.backdrop && key === this.backdropOf) return;
    this.backdropOf = key;
    this.backdrop = this.backdrop || document.createElement("canvas");
    this.backdrop.width = this.canvas.width;
    this.backdrop.height = this.canvas.height;
    const context = this.backdrop.getContext("2d");
    context.scale(this.ratio, this.ratio);
    context.font = this.font;
    this.clip(context);
    this.marks = [];
    this.arrows = [];
    const messages = this.run.between(from, to).filter((message) => player.shows(message));
    this.dense = messages.length > MOST_ARROWS;
    this.drawRuler(context);
    this.drawLanes(context, from, to);
    this.drawMessages(context, this.dense ? this.thinned(messages) : messages, player.cone(this.r), false);
    this.drawEvents(context, from, to, player.cone(this.r));
  }

  /** What this step received and sent: drawn once more, wider. */
  messagesOfNow() {
    const step = this.run.steps[this.player.at(this.r)];
    const numbers = [step.message, ...(step.sent || []).map((sent) => sent.id)];
    return numbers.map((id) => this.run.messages.get(id)).filter((message) => message && this.player.shows(message));
  }

  /** Of more arrows than one could tell apart, only as many as make the pattern: those of the selection stay. */
  thinned(messages) {
    const every = Math.ceil(messages.length / MOST_ARROWS);
    const cone = this.player.cone(this.r);
    return messages.filter((message, i) => i % every === 0 || (cone && message.sent === this.player.selected.step));
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

  drawRuler(context) {
    const wanted = 90 / this.scale;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const nice = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= wanted);
    const every = this.axis === "step" ? Math.max(1, Math.round(nice)) : nice;
    const right = this.left + (this.width - GUTTER) / this.scale;
    context.fillStyle = this.look.soft;
    context.strokeStyle = this.look.line;
    context.textAlign = "center";
    context.lineWidth = 1;
    context.beginPath();
    for (let place = Math.max(0, Math.ceil(this.left / every) * every); place <= right; place += every) {
      const x = Math.round(this.x(place)) + 0.5;
      context.moveTo(x, RULER - 4);
      context.lineTo(x, this.height);
      const unit = this.axis === "time" && this.run.head.unit === "s" ? " s" : "";
      context.fillText(`${+place.toPrecision(6)}${unit}`, x, RULER - 8);
    }
    context.globalAlpha = 0.5;
    context.stroke();
    context.globalAlpha = 1;
  }

  drawLanes(context, from, to) {
    for (let site = 0; site < this.run.nodes; site++) {
      const y = this.y(site);
      if (y < -this.lane || y > this.height + this.lane) continue;
      context.globalAlpha = this.player.hiddenSites.has(site) ? 0.25 : 1;
      context.fillStyle = site === this.player.site ? this.look.soft : this.look.faint;
      context.fillRect(GUTTER - 6, Math.round(y) - (site === this.player.site ? 1 : 0.5), this.width, site === this.player.site ? 2 : 1);
      for (const span of this.spansInView(site, from, to)) this.drawSpan(context, span, y);
    }
    context.globalAlpha = 1;
  }

  spansInView(site, from, to) {
    const spans = this.run.spans[site];
    let [low, high] = [0, spans.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (spans[middle].to < from) low = middle + 1;
      else high = middle;
    }
    const found = [];
    for (let i = low; i < spans.length && spans[i].from <= to; i++) found.push(spans[i]);
    return found;
  }

  drawSpan(context, { is, from, to }, y) {
    if (this.player.cone(this.r)) context.globalAlpha = 0.4;
    const end = to >= this.run.length ? this.width + 10 : this.x(this.run.place(to, this.axis));
    const x = Math.max(this.x(this.run.place(from, this.axis)), GUTTER - 10);
    const width = Math.max(1.5, Math.min(end, this.width + 10) - x);
    const half = clamp(this.lane * 0.2, 4, 11);
    if (is === "inside") {
      context.fillStyle = this.look.inside;
      context.fillRect(x, y - half, width, 2 * half);
    } else if (is === "waiting") {
      context.fillStyle = this.dense ? this.look.faint : this.hatch(context);
      context.fillRect(x, y - half * 0.7, width, 1.4 * half);
    } else {
      context.fillStyle = is === "down" ? this.look.down : this.look.soft;
      context.fillRect(x, y - half * 0.45, width, 0.9 * half);
    }
  }

  /** Waiting is hatched, so that it is told from inside without colour. */
  hatch(context) {
    if (this.hatched && this.hatchedWith === this.look.waiting) return this.hatched;
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d");
    pen.strokeStyle = this.look.waiting;
    pen.lineWidth = 1.4;
    for (const shift of [-6, 0, 6]) {
      pen.moveTo(shift, 6);
      pen.lineTo(shift + 6, 0);
    }
    pen.stroke();
    this.hatchedWith = this.look.waiting;
    return (this.hatched = context.createPattern(tile, "repeat"));
  }

  drawMessages(context, messages, cone, now) {
    const bright = (message) => !cone || (cone[message.sent] && (message.end === null || message.lost || cone[message.end]) && this.sameSide(cone, message));
    for (const message of messages) {
      const arrow = this.arrow(message);
      context.globalAlpha = bright(message) ? (this.dense && !now && !cone ? 0.1 : 1) : this.dense ? 0.03 : 0.13;
      context.strokeStyle = context.fillStyle = this.look.colour(message.kind);
      context.lineWidth = now ? 2.6 : 1.4;
      context.setLineDash(message.end === null ? [2, 4] : this.look.dash(message.kind));
      context.beginPath();
      context.moveTo(arrow.x1, arrow.y1);
      context.lineTo(arrow.x2, arrow.y2);
      context.stroke();
      context.setLineDash([]);
      if (message.lost) this.drawCross(context, arrow.x2, arrow.y2, 5);
      else if (message.end !== null) this.drawTip(context, arrow);
      if (!now && bright(message)) this.arrows.push(arrow);
    }
    context.globalAlpha = 1;
  }

  /** An arrow is bright if both its ends are on one side of the selection: both before, or both after. */
  sameSide(cone, message) {
    return message.end === null || message.lost || (cone[message.sent] & cone[message.end]) !== 0;
  }

  arrow(message) {
    const x1 = this.x(this.run.place(message.sent, this.axis));
    const [y1, y] = [this.y(message.from), this.y(message.to)];
    if (message.end === null) {
      const part = Math.min(0.6, 60 / Math.max(1, Math.abs(y - y1)));
      return { message, x1, y1, x2: x1 + 46, y2: y1 + (y - y1) * part };
    }
    const x2 = this.x(this.run.place(message.end, this.axis));
    if (message.lost) return { message, x1, y1, x2: x1 + 0.75 * (x2 - x1), y2: y1 + 0.75 * (y - y1) };
    return { message, x1, y1, x2, y2: y };
  }

  drawTip(context, { x1, y1, x2, y2 }) {
    const angle = Math.atan2(y2 - y1, x2 - x1);
    const back = 5.5;
    const [x, y] = [x2 - back * Math.cos(angle), y2 - back * Math.sin(angle)];
    const point = (turn) => [x - 8 * Math.cos(angle + turn), y - 8 * Math.sin(angle + turn)];
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(...point(0.4));
    context.lineTo(...point(-0.4));
    context.fill();
  }

  drawCross(context, x, y, r) {
    context.lineWidth = 2.4;
    context.beginPath();
    context.moveTo(x - r, y - r);
    context.lineTo(x + r, y + r);
    context.moveTo(x - r, y + r);
    context.lineTo(x + r, y - r);
    context.stroke();
  }

  drawEvents(context, from, to, cone) {
    const r = clamp(this.scale * (this.axis === "step" ? 0.2 : 4), 2, 5);
    const found = new Set(this.player.active === this.r ? this.player.found : []);
    const bad = new Set(this.run.tooMany);
    for (let n = from; n <= to; n++) {
      const step = this.run.steps[n];
      if (this.player.hiddenSites.has(step.site)) continue;
      const x = this.x(this.run.place(n, this.axis));
      const across = !Number.isInteger(step.site);
      const y = across ? RULER : this.y(step.site);
      context.globalAlpha = !cone || cone[n] ? 1 : 0.15;
      if (!this.dense || FAULTS.has(step.what) || (cone && cone[n])) this.drawEvent(context, step, x, y, r);
      if (bad.has(n)) this.ring(context, x, y, r + 5, this.look.bad);
      if (found.has(n)) this.ring(context, x, y, r + 4, this.look.playhead);
      this.marks.push({ n, x, y });
    }
    context.globalAlpha = 1;
  }

  drawEvent(context, step, x, y, r) {
    const message = this.run.messages.get(step.message);
    const { look } = this;
    context.fillStyle = context.strokeStyle = message ? look.colour(message.kind) : look.ink;
    context.lineWidth = 1.5;
    if (step.what === "crash") {
      context.fillStyle = look.down;
      context.fillRect(x - 2, y - this.lane * 0.36, 4, this.lane * 0.72);
      return;
    }
    if (step.what === "lose" || step.what === "cut") return this.drawCross(context, x, y, r * 0.8);
    if (step.what === "begin") return;
    if (step.what === "deliver") traceShape(context, look.shape(message.kind), x, y, r);
    else traceShape(context, { request: "triangle", release: "square", timeout: "diamond" }[step.what] || "hexagon", x, y, r);
    if (step.what !== "deliver") {
      context.fillStyle = look.ground;
      context.fill();
      context.stroke();
    } else context.fill();
  }

  ring(context, x, y, r, colour) {
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, r, 0, 2 * Math.PI);
    context.stroke();
  }

  /** What has not happened yet is seen through a veil. */
  drawFuture(context) {
    const x = this.x(this.player.place(this.r)) + 4;
    if (x > this.width) return;
    context.globalAlpha = 0.5;
    context.fillStyle = this.look.ground;
    context.fillRect(Math.max(x, GUTTER - 6), RULER, this.width, this.height);
    context.globalAlpha = 1;
  }

  /** Kinds of messages beside their arrows, where there is room; a label that would cover another is left out. */
  drawLabels(context) {
    const taken = this.marks.map(({ x, y }) => [x - 5, y - 5, x + 5, y + 5]);
    context.textAlign = "center";
    context.lineWidth = 4;
    const now = new Set(this.messagesOfNow());
    const nowFirst = [...this.arrows].sort((a, b) => now.has(b.message) - now.has(a.message));
    for (const { message, x1, y1, x2, y2 } of nowFirst) {
      const half = context.measureText(message.kind).width / 2 + 2;
      if (Math.hypot(x2 - x1, y2 - y1) < 2 * half + 14) continue;
      for (const part of [0.5, 0.36, 0.64, 0.25, 0.75]) {
        const [x, y] = [x1 + part * (x2 - x1), y1 + part * (y2 - y1)];
        const box = [x - half, y - 7, x + half, y + 7];
        if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
        taken.push(box);
        context.strokeStyle = this.look.ground;
        context.fillStyle = this.look.colour(message.kind);
        context.globalAlpha = message.sent > this.player.at(this.r) ? 0.5 : 1;
        context.strokeText(message.kind, x, y + 4);
        context.fillText(message.kind, x, y + 4);
        break;
      }
    }
    context.globalAlpha = 1;
  }

  drawPlayhead(context) {
    const x = this.x(this.player.place(this.r));
    context.fillStyle = this.look.ground;
    context.fillRect(x - 18, 2, 36, RULER - 5);
    context.fillStyle = this.look.playhead;
    context.fillRect(x - 1, RULER - 6, 2, this.height);
    context.beginPath();
    context.moveTo(x - 6, RULER - 14);
    context.lineTo(x + 6, RULER - 14);
    context.lineTo(x, RULER - 4);
    context.fill();
    const selected = this.player.selected;
    if (selected && selected.run === this.r) {
      const site = this.run.steps[selected.step].site;
      this.ring(context, this.x(this.run.place(selected.step, this.axis)), Number.isInteger(site) ? this.y(site) : RULER, 9, this.look.ink);
    }
  }

  drawNames(context) {
    const state = this.run.stateAt(this.player.at(this.r));
    context.textAlign = "left";
    for (let site = 0; site < this.run.nodes; site++) {
      const y = this.y(site);
      context.fillStyle = this.look.ink;
      context.globalAlpha = this.player.hiddenSites.has(site) ? 0.3 : 1;
      context.font = `${site === this.player.site ? "bold " : ""}${this.font}`;
      context.fillText(this.run.names[site].slice(0, 7), 8, y + (this.lane > 34 ? 0 : 4));
      if (this.lane > 34) {
        context.font = this.font.replace("12px", "10px");
        context.fillStyle = this.look.soft;
        context.fillText(state.up[site] === "up" ? state.phase[site] : state.up[site], 8, y + 12);
      }
    }
    context.globalAlpha = 1;
    context.font = this.font;
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
    this.top = clamp(top, 0, Math.max(0, this.run.nodes * this.lane + RULER + 8 - this.height));
    this.player.changed();
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
