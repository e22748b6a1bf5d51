// What all views share: the runs, the playhead, what is selected and hidden. Views are told once a frame.

import { clamp } from "./dom.js";
import { siteOf } from "./trace.js";

export const SPEEDS = [0.5, 1, 2, 4, 8, 16, 60];
const GLIDE = 260;

export class Player {
  constructor(runs) {
    this.runs = runs;
    this.active = 0;
    this.axis = "step";
    this.moment = 0;
    this.position = 0;
    this.speed = 2;
    this.playing = false;
    this.selected = null;
    this.site = null;
    this.hiddenKinds = new Set();
    this.hiddenSites = new Set();
    this.found = [];
    this.game = null;
    this.query = "";
    this.motion = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.views = [];
    this.frame = null;
    this.glide = null;
    this.cones = new Map();
    this.version = 0;
    this.lay();
  }

  get run() {
    return this.runs[this.active];
  }

  /** The moments that the playhead can be at. By step: the n-th step of each run; by time: every step of any run. */
  lay() {
    const last = Math.max(...this.runs.map((run) => run.length)) - 1;
    if (this.axis === "step" || this.runs.length === 1) {
      this.moments = null;
      this.last = last;
      return;
    }
    const all = this.runs.flatMap((run, r) => Array.from(run.times, (t, n) => ({ t, r, n })));
    all.sort((a, b) => a.t - b.t || a.n - b.n);
    const at = this.runs.map(() => 0);
    this.moments = all.map(({ r, n, t }) => {
      at[r] = n;
      return { at: at.slice(), t };
    });
    this.last = this.moments.length - 1;
  }

  /** The step that a run is at. */
  at(r = this.active) {
    if (this.moments) return this.moments[this.moment].at[r];
    return Math.min(this.moment, this.runs[r].length - 1);
  }

  /** The moment at which a run reaches a step. */
  momentOf(r, n) {
    return this.moments ? this.moments.findIndex((moment) => moment.at[r] >= n) : n;
  }

  /** Where the playhead is on the axis of a run, also between two steps while it glides. */
  place(r, position = this.position) {
    const low = clamp(Math.floor(position), 0, this.last);
    const high = Math.min(low + 1, this.last);
    const value = (moment) => {
      if (this.moments) return this.moments[moment].t;
      const run = this.runs[r];
      return this.axis === "time" ? run.times[Math.min(moment, run.length - 1)] : moment;
    };
    return value(low) + (value(high) - value(low)) * (position - low);
  }

  go(moment, { glide = true } = {}) {
    const target = clamp(Math.round(moment), 0, this.last);
    const near = Math.abs(target - this.position) <= 1.01;
    this.moment = target;
    this.glide = glide && near && this.motion ? { from: this.position, began: performance.now(), takes: this.glideTime() } : null;
    if (!this.glide) this.position = target;
    this.changed();
  }

  glideTime() {
    return this.playing ? Math.min(900, 1000 / this.speed) : GLIDE;
  }

  /** Goes to a step of a run, which becomes the one that inspector and source are about. */
  goTo(r, n) {
    this.active = r;
    this.go(this.momentOf(r, n));
  }

  step(by) {
    this.pause();
    this.go(this.moment + by);
  }

  /** To the next step among `steps` of the active run, or the one before. */
  hop(steps, direction) {
    const here = this.at();
    const next = direction > 0 ? steps.find((n) => n > here) : steps.findLast((n) => n < here);
    this.pause();
    if (next !== undefined) this.goTo(this.active, next);
    return next !== undefined;
  }

  select(r, n) {
    this.selected = n === null ? null : { run: r, step: n };
    this.touch();
    if (n === null) return;
    const site = siteOf(this.runs[r].steps[n]);
    if (site !== null) this.site = site;
    this.pause();
    this.goTo(r, n);
  }

  /** Which steps are in the causal past and future of the selection; null where nothing is selected. */
  cone(r) {
    if (!this.selected || this.selected.run !== r) return null;
    const key = `${r}:${this.selected.step}:${this.runs[r].edition}`;
    if (!this.cones.has(key)) this.cones = new Map([[key, this.runs[r].cone(this.selected.step)]]);
    return this.cones.get(key);
  }

  shows(message) {
    return !this.hiddenKinds.has(message.kind) && !this.hiddenSites.has(message.from) && !this.hiddenSites.has(message.to);
  }

  play() {
    if (this.moment >= this.last) this.go(0, { glide: false });
    this.playing = true;
    this.due = performance.now() + 1000 / this.speed;
    this.changed();
  }

  pause() {
    this.playing = false;
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
    this.changed();
  }

  /** Something may look different: all views are asked to draw in the next frame, once. */
  changed() {
    if (this.frame === null) this.frame = requestAnimationFrame((now) => this.draw(now));
  }

  /** As `changed`, where something other than the playhead is different. */
  touch() {
    this.version += 1;
    this.changed();
  }

  draw(now) {
    this.frame = null;
    if (this.playing) this.playOn(now);
    if (this.glide) {
      const part = clamp((now - this.glide.began) / this.glide.takes, 0, 1);
      this.position = this.glide.from + (this.moment - this.glide.from) * part;
      if (part >= 1) this.glide = null;
    }
    let moving = this.playing || this.glide !== null;
    for (const view of this.views) moving = view.draw(now) || moving;
    if (moving) this.changed();
    if (!this.drawn) this.drawn = performance.mark("soloist-drawn");
  }

  playOn(now) {
    if (now < this.due) return;
    const steps = Math.max(1, Math.floor(((now - this.due) * this.speed) / 1000) + 1);
    this.due = Math.max(now, this.due + (steps * 1000) / this.speed);
    this.go(this.moment + steps);
    if (this.moment >= this.last) this.pause();
  }
}
