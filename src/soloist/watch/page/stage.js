// The stage: sites in their structure, pointers as arrows that turn, messages that fly, the token at its place.
// SVG, since there are few things and each is to be pointed at.

import { clamp, el, setText } from "./dom.js";
import { below, part, placeBeside } from "./labels.js";
import { places } from "./layout.js";
import { shapePath } from "./look.js";
import { insideOf, siteOf } from "./trace.js";
import { paperNames, show, showMessage } from "./words.js";

const MOST_FLIGHTS = 120;
const MOST_EDGES = 300;
const TURNS = 320;
const NARROW = 260;

export class Stage {
  constructor(player, look, r) {
    this.player = player;
    this.look = look;
    this.r = r;
    this.element = el("div", { class: "stage" });
    this.flights = new Map();
    this.pointers = new Map();
    this.hovered = null;
    new ResizeObserver(() => this.build()).observe(this.element);
  }

  get run() {
    return this.player.runs[this.r];
  }

  /** Everything that does not move, for the size that there is. */
  build() {
    const { width, height } = this.element.getBoundingClientRect();
    if (!width || !height) return;
    const { nodes, stage } = this.run;
    this.edition = this.run.edition;
    this.radius = clamp((Math.min(width, height) * 0.95) / (nodes + 5), 9, 30);
    const narrow = width < NARROW;
    const margin = this.radius + (nodes <= 16 ? 34 : 18);
    const [a, b] = [width / 2 - (narrow ? this.radius + 16 : margin + 10), height / 2 - margin];
    this.at = places(stage, nodes, Math.max(a, 10) / Math.max(b, 10)).map(([x, y]) => [width / 2 + x * Math.max(a, 10), height / 2 + y * Math.max(b, 10)]);
    this.roomy = nodes <= 12 && !narrow;
    this.svg = el("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Stage: ${nodes} sites as a ${stage.layout}` });
    this.layers = ["edges", "quorum", "tracks", "pointers", "sites", "flights"].map((name) => el("g", { class: name }));
    this.svg.append(this.arrowheads(), ...this.layers);
    this.drawEdges();
    this.sites = Array.from({ length: nodes }, (_, site) => this.buildSite(site));
    this.flights.clear();
    this.pointers.clear();
    this.layers[4].append(...this.sites.map((each) => each.group));
    this.element.replaceChildren(this.svg, this.key());
    this.drawn = null;
    this.player.changed();
  }

  arrowheads() {
    const head = (name) =>
      el("marker", { id: `head-${name}-${this.r}`, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 5.5, markerHeight: 5.5, orient: "auto-start-reverse" },
        el("path", { d: "M 0 1 L 10 5 L 0 9 Z", class: `head-${name}` }));
    return el("defs", {}, head("0"), head("1"), head("2"), head("edge"));
  }

  drawEdges() {
    const ring = this.run.stage.layout === "ring";
    for (const [from, to] of (this.run.stage.edges || []).slice(0, MOST_EDGES)) {
      const [x1, y1, x2, y2] = this.chord(from, to, ring ? 4 : 0);
      this.layers[0].append(el("line", { x1, y1, x2, y2, "marker-end": ring ? `url(#head-edge-${this.r})` : null }));
    }
  }

  /** Which arrow is which pointer. */
  key() {
    const names = paperNames(this.run.files);
    const called = (field, label) => (label && label !== field ? label : names.get(field)?.paper || field);
    const rows = (this.run.stage.pointers || []).map(({ field, label }, i) =>
      el("span", {}, el("svg", { viewBox: "0 0 26 8", "aria-hidden": "true" }, el("path", { d: "M 0 4 H 24", class: `pointer pointer-${i % 3}`, "marker-end": `url(#head-${i % 3}-${this.r})` })), called(field, label)));
    return el("p", { class: "stage-key" }, ...rows);
  }

  /** The line between the rims of two sites. */
  chord(from, to, gap = 0) {
    const [[x1, y1], [x2, y2]] = [this.at[from], this.at[to]];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [dx, dy] = [((x2 - x1) / length) * (this.radius + gap), ((y2 - y1) / length) * (this.radius + gap)];
    return [x1 + dx, y1 + dy, x2 - dx, y2 - dy];
  }

  buildSite(site) {
    const [x, y] = this.at[site];
    const r = this.radius;
    const name = this.run.names[site];
    const parts = {
      glow: el("circle", { r: r + 7, class: "glow" }),
      body: el("circle", { r, class: "body" }),
      name: el("text", { class: "name", y: 0, "font-size": clamp(Math.min(0.8, 2.8 / Math.min(name.length, 6)) * r, name.length > 2 ? 7 : 9, 18) }, name.slice(0, 6)),
      fault: el("path", { class: "fault" }),
      token: el("path", { d: shapePath("star", clamp(r * 0.42, 6, 11)), class: "token", transform: `translate(${r * 0.8} ${-r * 0.8})` }),
      tokens: el("text", { class: "tokens", x: r * 0.8, y: -r * 0.8 + 3.5 }),
      below: el("text", { class: "below", y: r + 17 }),
      title: el("title"),
    };
    const group = el("g", {
      class: "site", transform: `translate(${x} ${y})`, tabindex: "0", role: "button",
      onclick: () => this.pick(site),
      onkeydown: (event) => (event.key === "Enter" ? this.pick(site) : undefined),
      onpointerenter: () => this.hover(site), onpointerleave: () => this.hover(null),
      onfocus: () => this.hover(site), onblur: () => this.hover(null),
    }, ...Object.values(parts));
    return { group, ...parts };
  }

  pick(site) {
    this.player.active = this.r;
    this.player.site = this.player.site === site ? null : site;
    this.player.touch();
  }

  hover(site) {
    this.hovered = site;
    this.drawQuorum();
  }

  /** The quorum of the site that is pointed at or picked: its members ringed, and a line to each. */
  drawQuorum() {
    const { quorums } = this.run.stage;
    const site = this.hovered ?? (this.player.active === this.r ? this.player.site : null);
    const members = quorums && site !== null ? quorums[site] || [] : [];
    const rings = members.map((member) => el("circle", { cx: this.at[member][0], cy: this.at[member][1], r: this.radius + 7 }));
    const lines = members.filter((member) => member !== site).map((member) => {
      const [x1, y1, x2, y2] = this.chord(site, member, 7);
      return el("line", { x1, y1, x2, y2 });
    });
    this.layers[1].replaceChildren(...lines, ...rings);
  }

  draw(now) {
    if (!this.svg) return false;
    const n = this.player.at(this.r);
    if (this.edition !== this.run.edition) this.build();
    const key = `${n}:${this.player.version}`;
    if (key !== this.drawn) {
      this.drawn = key;
      this.drawSites(n);
      this.aimPointers(n, now);
      this.drawQuorum();
    }
    this.drawFlights(n);
    return this.turnPointers(now);
  }

  drawSites(n) {
    const state = this.run.stateAt(n);
    const step = this.run.steps[n];
    const crowded = insideOf(state).length > (this.run.head.k || 1);
    this.sites.forEach((parts, site) => {
      const up = state.up[site];
      const phase = up === "down" ? "down" : state.phase[site];
      const classes = ["site", phase, up === "paused" && "paused", site === siteOf(step) && "acting", site === this.player.site && "picked", crowded && phase === "inside" && "bad"];
      parts.group.setAttribute("class", classes.filter(Boolean).join(" "));
      const r = this.radius * 0.5;
      parts.fault.setAttribute("d", up === "down" ? `M ${-r} ${-r} L ${r} ${r} M ${-r} ${r} L ${r} ${-r}` : up === "paused" ? `M ${-1.25 * r} ${-0.8 * r} V ${0.8 * r} M ${1.25 * r} ${-0.8 * r} V ${0.8 * r}` : "");
      this.drawToken(parts, site, state, n);
      this.drawBelow(parts, state.fields[site]);
      const why = state.why[site] ? `, ${state.why[site]}` : "";
      const label = `Site ${this.run.names[site]}: ${up === "up" ? "" : `${up}, `}${state.phase[site]}${why}`;
      setText(parts.title, label);
      parts.group.setAttribute("aria-label", label);
    });
  }

  drawToken(parts, site, state, n) {
    const { token } = this.run.stage;
    const value = token ? (token.field ? state.fields[site][token.field] : this.tokenRests(site, n)) : false;
    const kept = Array.isArray(value) ? value.length : Number(value === true || Number.isInteger(value)); // a number is the token's name
    const count = kept + Number(Boolean(token && token.inside) && state.phase[site] === "inside");
    parts.token.style.display = count ? "" : "none";
    setText(parts.tokens, count > 1 && typeof value !== "boolean" ? String(count) : "");
  }

  /** Where no field says who has the token: who got it last and has not sent it since. */
  tokenRests(site, n) {
    const { kinds } = this.run.stage.token;
    const steps = this.run.ofSite[site];
    for (let i = steps.length - 1; i >= 0; i--) {
      if (steps[i] > n) continue;
      const step = this.run.steps[steps[i]];
      if ((step.sent || []).some((sent) => kinds.includes(sent.kind))) return false;
      const got = step.what === "deliver" && this.run.messages.get(step.message);
      if (got && kinds.includes(got.kind)) return true;
    }
    const [first] = this.run.stage.pointers || []; // at the beginning it is where the pointers end
    return Boolean(first) && this.run.steps[0].states?.[site]?.[first.field] === site;
  }

  drawBelow(parts, fields) {
    const { queue } = this.run.stage;
    const kept = queue && this.roomy ? fields[queue] : null;
    const value = kept && !Array.isArray(kept) && typeof kept === "object" ? inOrder(kept) : kept;
    const text = Array.isArray(value) && value.some((each) => each !== 0) ? show(value) : "";
    setText(parts.below, text.length > 22 ? `${text.slice(0, 21)}…` : text);
  }

  // Pointers.

  /** Every pointer is told where to point from now on; it turns there in the frames that follow. */
  aimPointers(n, now) {
    const { fields } = this.run.stateAt(n);
    const alive = new Set();
    (this.run.stage.pointers || []).forEach(({ field, label, many, index }, i) => {
      fields.forEach((values, site) => {
        const value = index == null ? values[field] : (values[field] || [])[index];
        const one = Array.isArray(value) ? value[value.length - 1] : value; // a request is (number, site)
        for (const to of many ? value || [] : [one]) {
          if (!Number.isInteger(to) || !this.at[to]) continue;
          const key = many ? `${i}:${site}:${to}` : `${i}:${site}`;
          alive.add(key);
          this.aim(key, i, site, to, `${label || field} of ${this.run.names[site]}: ${this.run.names[to]}`, now);
        }
      });
    });
    for (const [key, pointer] of this.pointers) {
      if (alive.has(key)) continue;
      pointer.path.remove();
      this.pointers.delete(key);
    }
  }

  aim(key, i, site, to, text, now) {
    let pointer = this.pointers.get(key);
    const goal = this.tipOf(i, site, to);
    if (!pointer) {
      const title = el("title");
      const path = el("path", { class: `pointer pointer-${i % 3}`, "marker-end": `url(#head-${i % 3}-${this.r})` }, title);
      pointer = { path, title, site, i, tip: goal, from: goal, goal, began: -Infinity };
      this.pointers.set(key, pointer);
      this.layers[3].append(path);
      this.drawPointer(pointer);
    }
    setText(pointer.title, text);
    if (goal.x === pointer.goal.x && goal.y === pointer.goal.y) return;
    Object.assign(pointer, { from: pointer.tip, goal, began: this.player.motion ? now : -Infinity });
  }

  /** The point of an arrow: at the rim of the site it points to, or a loop beside its own. */
  tipOf(i, site, to) {
    const [x, y] = this.at[to];
    const bend = 0.1 + 0.08 * i;
    if (site === to) return { x, y, loop: true, bend };
    const [fromX, fromY] = this.at[site];
    const angle = Math.atan2(fromY - y, fromX - x) + 0.28 + 0.2 * i;
    const aside = this.blocked(site, to) ? 0.25 : 0;
    return { x: x + (this.radius + 3) * Math.cos(angle + aside), y: y + (this.radius + 3) * Math.sin(angle + aside), loop: false, bend: bend + 1.2 * aside };
  }

  /** Whether another site is in the way between two: an arrow goes round it. */
  blocked(from, to) {
    const [[x1, y1], [x2, y2]] = [this.at[from], this.at[to]];
    const [dx, dy] = [x2 - x1, y2 - y1];
    return this.at.some(([x, y], site) => {
      if (site === from || site === to) return false;
      const part = clamp(((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1), 0, 1);
      return Math.hypot(x1 + part * dx - x, y1 + part * dy - y) < this.radius + 6;
    });
  }

  turnPointers(now) {
    let moving = false;
    for (const pointer of this.pointers.values()) {
      const { tip, goal } = pointer;
      if (tip === goal) continue;
      const part = clamp((now - pointer.began) / TURNS, 0, 1);
      const eased = part * part * (3 - 2 * part);
      const between = (a, b) => a + (b - a) * eased;
      pointer.tip = part >= 1 ? goal : { x: between(pointer.from.x, goal.x), y: between(pointer.from.y, goal.y), bend: between(pointer.from.bend, goal.bend), loop: false };
      this.drawPointer(pointer);
      moving = moving || part < 1;
    }
    return moving;
  }

  drawPointer({ path, site, i, tip }) {
    const [x, y] = this.at[site];
    const r = this.radius;
    if (tip.loop) {
      const out = this.loopAngle(x, y) - 0.5 * i;
      const on = (angle, far) => `${(x + far * Math.cos(angle)).toFixed(1)} ${(y + far * Math.sin(angle)).toFixed(1)}`;
      path.setAttribute("d", `M ${on(out - 0.45, r)} C ${on(out - 0.6, r * 2)} ${on(out + 0.6, r * 2)} ${on(out + 0.45, r + 2)}`);
      return;
    }
    const angle = Math.atan2(tip.y - y, tip.x - x) - 0.28 - 0.2 * i - 2 * Math.max(0, tip.bend - 0.3);
    const [fromX, fromY] = [x + r * Math.cos(angle), y + r * Math.sin(angle)];
    const length = Math.hypot(tip.x - fromX, tip.y - fromY);
    const [midX, midY] = [(fromX + tip.x) / 2 + tip.bend * (tip.y - fromY), (fromY + tip.y) / 2 - tip.bend * (tip.x - fromX)];
    path.setAttribute("d", `M ${fromX.toFixed(1)} ${fromY.toFixed(1)} Q ${midX.toFixed(1)} ${midY.toFixed(1)} ${tip.x.toFixed(1)} ${tip.y.toFixed(1)}`);
    path.style.opacity = length < 2 ? 0 : "";
  }

  /** A loop is at the outer side of its site, but neither over the token nor over what is written below. */
  loopAngle(x, y) {
    const { width, height } = this.svg.viewBox.baseVal;
    const out = Math.atan2(y - height / 2, x - width / 2);
    if (Math.abs(out - Math.PI / 2) < 0.9) return out < Math.PI / 2 ? Math.PI / 2 - 0.9 : Math.PI / 2 + 0.9;
    return Math.abs(out + Math.PI / 4) < 0.9 ? -Math.PI / 4 - 0.9 : out;
  }

  // Messages.

  drawFlights(n) {
    const place = this.player.place(this.r);
    const step = this.run.steps[n];
    const arriving = this.player.glide ? this.run.messages.get(step.message) : null;
    const flying = this.run.inFlight(n).filter((message) => this.player.shows(message)).slice(0, MOST_FLIGHTS);
    if (arriving && arriving.end === n && this.player.shows(arriving)) flying.push(arriving);
    const crowd = new Map();
    const alive = new Set();
    for (const message of flying) {
      const part = this.progress(message, place);
      const link = `${message.from}>${message.to}:${Math.round(part * 5)}`;
      crowd.set(link, (crowd.get(link) || 0) + 1);
      alive.add(message.id);
      this.moveFlight(message, part, crowd.get(link) - 1);
    }
    part([...this.flights.values()], this.at.map(([x, y], site) => below(this.sites[site].below.textContent, x, y + this.radius)));
    for (const [id, flight] of this.flights) {
      if (alive.has(id)) continue;
      flight.group.remove();
      flight.track.remove();
      this.flights.delete(id);
    }
  }

  /** How far a message has got: by where it will arrive, or, if nobody knows, nearer and nearer to half-way. */
  progress(message, place) {
    const { axis } = this.player;
    const sent = this.run.place(message.sent, axis);
    if (message.end !== null) {
      const end = this.run.place(message.end, axis);
      const part = end > sent ? clamp((place - sent) / (end - sent), 0, 1) : 1;
      return (message.lost ? 0.6 : 0.92) * part + 0.04;
    }
    const age = Math.max(0, this.player.at(this.r) - message.sent);
    return 0.5 - 0.42 / (1 + age / 4);
  }

  moveFlight(message, part, beside) {
    const flight = this.flights.get(message.id) || this.newFlight(message);
    const [x1, y1, x2, y2] = this.chord(message.from, message.to, 6);
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const aside = 13 * beside;
    const x = x1 + (x2 - x1) * part + (-(y2 - y1) / length) * aside;
    const y = y1 + (y2 - y1) * part + ((x2 - x1) / length) * aside;
    flight.group.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    flight.group.classList.toggle("doomed", message.lost);
    flight.spot = [x, y];
    if (flight.label) placeBeside(flight, this.svg.viewBox.baseVal.width, this.at, this.radius);
  }

  newFlight(message) {
    const { look, run } = this;
    const isToken = run.stage.token && (run.stage.token.kinds || []).includes(message.kind);
    const r = isToken ? 9 : 6;
    const shape = el("path", { d: shapePath(isToken ? "star" : look.shape(message.kind), r), fill: look.colour(message.kind) });
    const text = `${showMessage(message)} from ${run.names[message.from]} to ${run.names[message.to]}`;
    const label = this.roomy ? el("text", { x: r + 3, y: 4, fill: look.colour(message.kind) }, message.kind) : null;
    const group = el("g", { class: isToken ? "flight carries-token" : "flight", onclick: (event) => this.pickFlight(message, event) }, shape, label, el("title", {}, text));
    this.layers[5].append(group);
    const flight = { group, label, r, track: this.newTrack(message) };
    this.flights.set(message.id, flight);
    return flight;
  }

  /** The way that a message goes: from its sender to its addressee. */
  newTrack(message) {
    const [x1, y1, x2, y2] = this.chord(message.from, message.to, 3);
    const track = el("line", { x1, y1, x2, y2, stroke: this.look.colour(message.kind) });
    this.layers[2].append(track);
    return track;
  }

  /** A click on a message selects where it was sent; in play mode it is delivered, or dropped with shift. */
  pickFlight(message, event) {
    if (this.player.game && this.player.game.pickMessage(this.r, message, event.shiftKey)) return;
    this.player.select(this.r, message.sent);
  }
}

/** A queue that is kept as a number for each site: first the lowest. */
function inOrder(numbers) {
  return Object.entries(numbers).map(([site, number]) => [number, Number(site)]).sort(([a, i], [b, j]) => a - b || i - j);
}
