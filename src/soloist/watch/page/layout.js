// Where sites stand on the stage: in the structure that their algorithm runs on. Places are within -1 and 1.

const TURN = 2 * Math.PI;
const MANY = 16;
const PARTS = 720;

/** A place [x, y] for each site; together they fill the stage, which is `aspect` times as wide as high. */
export function places(stage, nodes, aspect = 1) {
  const round = !["star", "grid", "groups"].includes(stage.layout) && !(stage.layout === "tree" && stage.edges.length);
  const found = round && nodes > MANY ? ellipsePlaces(nodes, aspect) : structured(stage, nodes);
  const ranges = [0, 1].map((axis) => {
    const values = found.map((place) => place[axis]);
    return [Math.min(...values), Math.max(...values)];
  });
  return found.map((place) => place.map((value, axis) => {
    const [low, high] = ranges[axis];
    return high - low < 1e-6 ? 0 : (2 * (value - low)) / (high - low) - 1;
  }));
}

function structured(stage, nodes) {
  switch (stage.layout) {
    case "tree": // one without edges is made of pointers that turn, and is seen best on a circle
      return stage.edges.length ? treePlaces(stage.edges, nodes) : circlePlaces(nodes);
    case "star":
      return starPlaces(stage.edges, nodes);
    case "grid":
      return gridPlaces(nodes);
    case "groups":
      return groupPlaces(stage.edges, nodes);
    default:
      return circlePlaces(nodes);
  }
}

function circlePlaces(nodes) {
  if (nodes === 1) return [[0, 0]];
  return Array.from({ length: nodes }, (_, i) => [Math.sin((TURN * i) / nodes), -Math.cos((TURN * i) / nodes)]);
}

/** Many on a wide stage would crowd at its sides if they stood at equal angles: they stand at equal distances. */
function ellipsePlaces(nodes, aspect) {
  const rim = Array.from({ length: PARTS + 1 }, (_, i) => [Math.sin((TURN * i) / PARTS), -Math.cos((TURN * i) / PARTS)]);
  const until = [0];
  for (let i = 1; i <= PARTS; i++) until.push(until[i - 1] + Math.hypot(aspect * (rim[i][0] - rim[i - 1][0]), rim[i][1] - rim[i - 1][1]));
  return Array.from({ length: nodes }, (_, site) => rim[until.findIndex((way) => way >= (until[PARTS] * site) / nodes)]);
}

/** The site with most edges in the middle. */
function starPlaces(edges, nodes) {
  const degrees = new Array(nodes).fill(0);
  for (const [a, b] of edges) {
    degrees[a] += 1;
    degrees[b] += 1;
  }
  const centre = degrees.indexOf(Math.max(...degrees));
  const around = circlePlaces(nodes - 1);
  return Array.from({ length: nodes }, (_, i) => (i === centre ? [0, 0] : around[i < centre ? i : i - 1]));
}

function gridPlaces(nodes) {
  const columns = Math.ceil(Math.sqrt(nodes));
  const rows = Math.ceil(nodes / columns);
  const at = (i, count) => (count === 1 ? 0 : (2 * i) / (count - 1) - 1);
  return Array.from({ length: nodes }, (_, i) => [at(i % columns, columns), at(Math.floor(i / columns), rows)]);
}

/** What hangs together on a circle of its own; these side by side. */
function groupPlaces(edges, nodes) {
  const group = Array.from({ length: nodes }, (_, i) => i);
  for (const [a, b] of edges) {
    const [low, high] = [Math.min(group[a], group[b]), Math.max(group[a], group[b])];
    group.forEach((each, i) => { if (each === high) group[i] = low; });
  }
  const names = [...new Set(group)];
  return group.map((name, i) => {
    const members = group.flatMap((each, j) => (each === name ? [j] : []));
    const [x, y] = circlePlaces(members.length)[members.indexOf(i)];
    return [2.9 * names.indexOf(name) + x, y];
  });
}

/** Leaves side by side, every parent above the middle of its children; what hangs on no edge stands beside. */
function treePlaces(edges, nodes) {
  const near = Array.from({ length: nodes }, () => []);
  for (const [a, b] of edges) {
    near[a].push(b);
    near[b].push(a);
  }
  const spot = new Array(nodes).fill(null);
  let leaves = 0;
  let deepest = 1;
  const hang = (site, depth) => {
    spot[site] = [0, depth];
    deepest = Math.max(deepest, depth);
    const children = near[site].filter((other) => spot[other] === null);
    const columns = children.filter((child) => spot[child] === null).map((child) => hang(child, depth + 1));
    spot[site][0] = columns.length ? (columns[0] + columns[columns.length - 1]) / 2 : leaves++;
    return spot[site][0];
  };
  for (let site = 0; site < nodes; site++) if (spot[site] === null) hang(site, 0);
  const wide = Math.max(1, leaves - 1);
  return spot.map(([column, depth]) => [leaves === 1 ? 0 : (2 * column) / wide - 1, (2 * depth) / deepest - 1]);
}
