// Labels of the messages on the stage: beside their message, clear of sites and of one another.

const HEIGHT = 13;
const LETTER = 7;

const widthOf = (text) => LETTER * text.length;

/** On the right of its message, unless only the left is free of sites. */
export function placeBeside({ label, r, spot: [x, y] }, width, sites, radius) {
  const wide = widthOf(label.textContent) + r + 3;
  const free = (left, right) => left > 0 && right < width
    && sites.every(([cx, cy]) => Math.abs(cy - y) > radius + 4 || cx - radius > right || cx + radius < left);
  const side = !free(x, x + wide) && free(x - wide, x) ? -1 : 1;
  label.setAttribute("x", side * (r + 3));
  label.setAttribute("text-anchor", side < 0 ? "end" : "start");
}

/** The room that a text takes below a site, whose rim is at `y`. */
export function below(text, x, y) {
  const wide = 0.85 * widthOf(text);
  return { left: x - wide / 2, wide, y: y + HEIGHT };
}

/** Labels that would lie on one another, or on what is `taken`, stand below one another. */
export function part(flights, taken) {
  const rooms = taken.filter(({ wide }) => wide);
  const fromAbove = flights.filter((flight) => flight.label).sort((one, other) => one.spot[1] - other.spot[1]);
  for (const { label, spot: [x, y] } of fromAbove) {
    const wide = widthOf(label.textContent);
    const from = x + Number(label.getAttribute("x"));
    const room = { left: label.getAttribute("text-anchor") === "end" ? from - wide : from, wide, y };
    while (rooms.some((other) => meet(room, other))) room.y += HEIGHT;
    rooms.push(room);
    label.setAttribute("y", String(4 + Math.round(room.y - y)));
  }
}

function meet(one, other) {
  return Math.abs(one.y - other.y) < HEIGHT && one.left < other.left + other.wide && other.left < one.left + one.wide;
}
