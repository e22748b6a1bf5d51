// The dashboard of a cluster: what its daemons say, as a stream from the server (api/stream, server-sent events). It only
// looks. Each event is the whole report; see `report` in soloist/watch/dashboard.py.

import { become, el, fill } from "./dom.js";

const SPAN = 60;
const LOCKS = 12;
const LANE = 24;

/** Seconds as people say them. */
function ago(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return seconds < 3600 ? `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s` : `${(seconds / 3600).toFixed(1)} h`;
}

function millis(seconds) {
  return seconds === undefined ? "–" : seconds < 1 ? `${(seconds * 1000).toFixed(1)} ms` : ago(seconds);
}

function table(heads, rows, none) {
  if (!rows.length) return el("p", { class: "about" }, none);
  return el("div", { class: "scroll-x" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", {}, head)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => (cell instanceof Node ? cell : el("td", {}, String(cell ?? "")))))))));
}

export class Board {
  constructor(root) {
    this.root = root;
    this.spans = [];
  }

  /** Who held what lately, put together from the looks. A new epoch gives a holder another fence: it still is the same hold. */
  remember({ at, holders }) {
    const before = this.spans.filter((span) => span.open);
    for (const span of before) span.open = false;
    for (const { lock, node, age } of holders) {
      let span = before.find((each) => each.lock === lock && each.node === node);
      if (!span) this.spans.push((span = { lock, node, from: at - (age || 0) }));
      Object.assign(span, { to: at, open: true });
    }
    this.spans = this.spans.filter((span) => span.to > at - SPAN);
  }

  show(report) {
    this.remember(report);
    document.title = `${report.cluster} · Soloist`;
    const panel = (name, title, ...content) => el("section", { class: `panel ${name}`, "aria-label": title }, el("h2", {}, title), ...content);
    become(this.root, el("div", { id: this.root.id },
      el("header", {}, el("div", { class: "titles" }, el("div", {}, el("h1", {}, report.cluster), el("p", { class: "about" }, `${report.algorithms.join(" and ")} · asked: ${report.asked.join(", ") || "nobody answers"}`)))),
      panel("figures wide", "Now", this.figures(report)),
      report.troubles.length ? panel("trouble wide", "Trouble", el("ul", { class: "troubles" }, ...report.troubles.map((text) => el("li", {}, text)))) : null,
      panel("lately wide", `The last ${SPAN} seconds`, this.lanes(report.at)),
      panel("members", "Members", this.members(report)), panel("happened", "What has changed", this.events(report)),
      panel("holders wide", "Holders", this.holders(report)), panel("waiters wide", "Waiters", this.waiters(report))));
  }

  figures({ epoch, lease, members, voters, holders, waiters, rate, waits }) {
    const heard = Object.values(voters).filter(Boolean).length;
    const facts = { epoch: epoch ?? "–", lease: lease ? `${lease} s` : "none", members: `${members.filter((each) => each.member && each.reached).length} of ${members.filter((each) => each.member).length}`,
      "voters heard": Object.keys(voters).length ? `${heard} of ${Object.keys(voters).length}` : "–", held: holders.length, waiting: waiters.reduce((sum, each) => sum + each.waiting, 0),
      "entries per second": rate === null ? "–" : rate.toFixed(1), [`waits of the last ${waits.of}: 50 %`]: millis(waits[50]), "90 %": millis(waits[90]), "99 %": millis(waits[99]) };
    return el("dl", { class: "facts" }, ...Object.entries(facts).map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", { "data-fact": name }, String(text)))));
  }

  members({ members }) {
    return table(["node", "address", "role", "reached", "epoch", "up", "entries"], members.map((each) => [each.name, each.address, each.role,
      el("td", { class: each.reached ? "" : "away" }, each.reached ? "yes" : "NO"), each.epoch ?? "–", ago(each.uptime), each.entries ?? "–"]), "no member is known");
  }

  holders({ holders, unreachable }) {
    const rows = holders.map((each) => [each.lock, each.kind, each.node, each.holding, each.fence, ago(each.age), each.note]);
    return el("div", {}, table(["lock", "kind", "node", "holds", "fence", "for", "note"], rows, "nobody holds anything"),
      unreachable.length ? el("p", { class: "away" }, `not connected, what they hold is not known: ${unreachable.join(", ")}`) : null);
  }

  waiters({ waiters }) {
    return table(["lock", "kind", "node", "waiting"], waiters.map((each) => [each.lock, each.kind, each.node, each.waiting]), "nobody waits");
  }

  events({ events }) {
    if (!events.length) return el("p", { class: "about" }, "nothing since this was opened");
    return el("ol", { class: "events" }, ...events.slice(-14).reverse().map(({ at, text }) => el("li", {}, el("time", {}, new Date(at * 1000).toLocaleTimeString()), text)));
  }

  lanes(now) {
    const locks = [...new Set(this.spans.map((span) => span.lock))].sort().slice(0, LOCKS);
    if (!locks.length) return el("p", { class: "about" }, "nobody has held anything");
    const x = (at) => 150 + (Math.max(at, now - SPAN) - now + SPAN) / SPAN * 840;
    const bars = this.spans.filter((span) => locks.includes(span.lock)).map((span) => {
      const y = locks.indexOf(span.lock) * LANE + 4;
      const wide = Math.max(3, x(span.to) - x(span.from));
      return el("g", {}, el("rect", { class: "held", x: x(span.from), y, width: wide, height: LANE - 8, rx: 3 }, el("title", {}, `${span.node} held ${span.lock}`)),
        wide > 10 + 8 * span.node.length ? el("text", { class: "held-by", x: x(span.from) + 5, y: y + 12 }, span.node) : null);
    });
    return el("svg", { class: "lanes", viewBox: `0 0 1000 ${locks.length * LANE}`, role: "img", "aria-label": "Who held what lately" },
      ...locks.flatMap((lock, i) => [el("line", { class: "axis", x1: 150, x2: 990, y1: i * LANE + LANE / 2, y2: i * LANE + LANE / 2 }), el("text", { x: 4, y: i * LANE + 16 }, lock.length > 20 ? `${lock.slice(0, 19)}…` : lock)]), ...bars);
  }
}

function complain(text) {
  const box = document.getElementById("error");
  box.hidden = !text;
  fill(box, text);
}

function watch() {
  const board = new Board(document.getElementById("board"));
  window.soloistBoard = board;
  window.addEventListener("error", (event) => complain(`Something went wrong in this page: ${event.message}`));
  const stream = new EventSource("api/stream");
  stream.onmessage = ({ data }) => {
    complain("");
    board.show(JSON.parse(data));
  };
  stream.onerror = () => complain("The server of this page does not answer: what is shown is old. It is asked again and again; soloist watch --config starts it anew.");
}

watch();
