// How the score is drawn: lanes, waiting and inside as bars, messages as arrows, events as marks, the playhead. What does
// not depend on the playhead is drawn into a backdrop, which stays as long as the view does.

import { clamp } from "./dom.js";
import { traceShape } from "./look.js";
import { siteOf } from "./trace.js";

export const GUTTER = 64;
export const RULER = 22;
const MOST_ARROWS = 1500;
const MOST_TICKS = 200;
const FAULTS = new Set(["crash", "restart", "pause", "resume", "lose", "duplicate", "cut", "heal"]);

/** What a score draws; where things are in the view, `Score` knows. */
export class ScoreDrawing {
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
    const key = [this.left, this.scale, this.top, player.version, player.axis, this.width, this.height, this.run.edition].join();
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
    const first = Math.max(0, Math.ceil(this.left / every));
    for (let i = 0; i < MOST_TICKS; i++) { // counted: a large time and a small one may add up to the large one
      const place = (first + i) * every;
      if (place > right) break;
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
      const y = this.heightOf(step);
      context.globalAlpha = !cone || cone[n] ? 1 : 0.15;
      if (!this.dense || FAULTS.has(step.what) || (cone && cone[n])) this.drawEvent(context, step, x, y, r);
      if (bad.has(n)) this.ring(context, x, y, r + 5, this.look.bad);
      if (found.has(n)) this.ring(context, x, y, r + 4, this.look.playhead);
      this.marks.push({ n, x, y });
    }
    context.globalAlpha = 1;
  }

  /** What is about all sites stands above them. */
  heightOf(step) {
    const site = siteOf(step);
    return site === null ? RULER : this.y(site);
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
        if (box[0] < GUTTER - 6 || box[2] > this.width) continue;
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
      this.ring(context, this.x(this.run.place(selected.step, this.axis)), this.heightOf(this.run.steps[selected.step]), 9, this.look.ink);
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
}
