// How things look: a colour and a shape for each kind of message, both told apart without the other, and the
// colours of the page's own style sheet for what is drawn on canvas.

export const SHAPES = ["circle", "square", "triangle", "diamond", "pentagon", "star", "bar", "hexagon"];

/** The place of a kind in palette and shapes: the order in which kinds first appear in the runs. */
export class Look {
  constructor(runs) {
    this.kinds = [...new Set(runs.flatMap((run) => run.kinds))];
    this.read();
  }

  /** Reads the colours of the style sheet, again whenever the theme has changed. */
  read() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.palette = SHAPES.map((_, i) => colour(`--kind-${i}`));
    for (const name of ["ink", "soft", "faint", "line", "ground", "inside", "waiting", "bad", "playhead", "down", "token"]) {
      this[name] = colour(`--${name}`);
    }
  }

  /** A kind that is new, as in play mode, comes after those that are known. */
  number(kind) {
    if (!this.kinds.includes(kind)) this.kinds.push(kind);
    return this.kinds.indexOf(kind);
  }

  colour(kind) {
    return this.palette[this.number(kind) % this.palette.length];
  }

  shape(kind) {
    return SHAPES[this.number(kind) % SHAPES.length];
  }

  /** Beyond eight kinds colours come again, with another dash. */
  dash(kind) {
    return [[], [7, 3], [2, 3]][Math.floor(this.number(kind) / SHAPES.length) % 3];
  }
}

/** The corners of a shape around a point; none for a circle. */
export function corners(shape, x, y, r) {
  const around = (count, turn, radius = () => r) =>
    Array.from({ length: count }, (_, i) => {
      const angle = turn + (2 * Math.PI * i) / count;
      return [x + radius(i) * Math.cos(angle), y + radius(i) * Math.sin(angle)];
    });
  switch (shape) {
    case "square":
      return [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([a, b]) => [x + 0.85 * r * a, y + 0.85 * r * b]);
    case "triangle":
      return around(3, -Math.PI / 2, () => 1.2 * r);
    case "diamond":
      return around(4, 0, () => 1.15 * r);
    case "pentagon":
      return around(5, -Math.PI / 2);
    case "star":
      return around(10, -Math.PI / 2, (i) => (i % 2 ? 0.5 * r : 1.25 * r));
    case "bar":
      return [[-0.45, -1.2], [0.45, -1.2], [0.45, 1.2], [-0.45, 1.2]].map(([a, b]) => [x + r * a, y + r * b]);
    case "hexagon":
      return around(6, 0);
    default:
      return [];
  }
}

/** The shape as the data of an SVG path. */
export function shapePath(shape, r) {
  const points = corners(shape, 0, 0, r);
  if (points.length === 0) return `M ${-r} 0 a ${r} ${r} 0 1 0 ${2 * r} 0 a ${r} ${r} 0 1 0 ${-2 * r} 0 Z`;
  return `M ${points.map((point) => point.map((each) => each.toFixed(2)).join(" ")).join(" L ")} Z`;
}

/** The shape as a path on a canvas. */
export function traceShape(context, shape, x, y, r) {
  context.beginPath();
  const points = corners(shape, x, y, r);
  if (points.length === 0) context.arc(x, y, r, 0, 2 * Math.PI);
  points.forEach(([px, py], i) => (i ? context.lineTo(px, py) : context.moveTo(px, py)));
  context.closePath();
}
