// The source panel: the algorithm's own file with the lines that this step executed marked.

import { el, fill } from "./dom.js";

export class Source {
  constructor(player) {
    this.player = player;
    this.tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Files" });
    this.code = el("pre", { class: "code", tabindex: "0", "aria-label": "Source of the algorithm" });
    this.element = el("div", { class: "source" }, this.tabs, this.code);
    this.shown = null;
  }

  draw() {
    const { player } = this;
    const [run, n] = [player.run, player.at()];
    const key = `${player.active}:${n}:${player.version}:${run.edition}`;
    if (key === this.drawn) return false;
    this.drawn = key;
    const { files } = run;
    if (files.length === 0) {
      fill(this.code, el("p", { class: "more" }, "This trace carries no source."));
      return false;
    }
    const lines = run.steps[n].lines || [];
    const inFile = lines.length && !lines.some(([file]) => file === this.file) ? lines[0][0] : this.file || 0;
    this.open(run, files, inFile < files.length ? inFile : 0);
    this.mark(lines.filter(([file]) => file === this.file).map(([, line]) => line));
    return false;
  }

  open(run, files, file) {
    if (this.shown === run && this.file === file) return;
    this.shown = run;
    this.file = file;
    fill(this.tabs, ...files.map((each, i) =>
      el("button", { role: "tab", "aria-selected": String(i === file), onclick: () => this.choose(i) }, nameOf(files, i))));
    const { first, text } = files[file];
    this.first = first || 1;
    this.code.style.setProperty("counter-reset", `line ${this.first - 1}`);
    this.rows = text.replace(/\n$/, "").split("\n").map((row) => el("code", { class: kindOfLine(row) }, row || " "));
    dimDocstrings(this.rows);
    fill(this.code, ...this.rows);
    this.marked = [];
  }

  choose(file) {
    this.open(this.player.run, this.player.run.files, file);
    this.mark((this.player.run.steps[this.player.at()].lines || []).filter(([each]) => each === file).map(([, line]) => line));
  }

  mark(lines) {
    for (const row of this.marked) {
      row.classList.remove("ran");
      row.removeAttribute("aria-current");
    }
    this.marked = [...new Set(lines)].sort((a, b) => a - b).map((line) => this.rows[line - this.first]).filter(Boolean);
    for (const row of this.marked) {
      row.classList.add("ran");
      row.setAttribute("aria-current", "step");
    }
    this.bringIntoView();
  }

  bringIntoView() {
    if (this.marked.length === 0) return;
    const { code } = this;
    const [top, bottom] = [this.marked[0].offsetTop, this.marked[this.marked.length - 1].offsetTop + 20];
    if (top >= code.scrollTop && bottom <= code.scrollTop + code.clientHeight) return;
    const room = code.clientHeight - (bottom - top);
    code.scrollTop = top - Math.max(20, room / 2);
  }
}

/** A text and its repair may lie in files of the same name: what comes later is what it builds on. */
function nameOf(files, i) {
  const same = files.filter(({ file }) => file === files[i].file);
  return same.length > 1 ? `${files[i].file} (${same.indexOf(files[i]) + 1})` : files[i].file;
}

function kindOfLine(row) {
  const text = row.trim();
  return text.startsWith("#") ? "quiet" : "";
}

/** Docstrings are quieter than what runs. */
function dimDocstrings(rows) {
  let open = false;
  for (const row of rows) {
    const quotes = (row.textContent.match(/"""/g) || []).length;
    if (open || (quotes && row.textContent.trim().startsWith('"""'))) row.classList.add("quiet");
    if (quotes % 2 && (open || row.classList.contains("quiet"))) open = !open;
  }
}
