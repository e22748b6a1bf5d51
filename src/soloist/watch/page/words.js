// What happened, in words: values, messages and steps as one reads them, the paper's names, and the search.

const LONG = 8;
const FEW_PLACES = 3;

/** A value of the trace as a paper would write it. */
export function show(value) {
  if (value === null || value === undefined) return "–";
  if (Array.isArray(value)) return `[${value.map(showPair).join(value.some(Array.isArray) ? " " : ", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, each]) => `${name}: ${show(each)}`).join(", ")}}`;
  return String(value);
}

/** Pairs such as timestamps are written in round brackets: (2, 1). */
function showPair(value) {
  return Array.isArray(value) ? `(${value.map(show).join(",")})` : show(value);
}

export function showMessage(message) {
  const fields = Object.entries(message.fields || {}).map(([name, value]) => `${name}=${show(value)}`);
  return fields.length ? `${message.kind}(${fields.join(", ")})` : message.kind;
}

/** What a run is of. A text with its errors has the name of the repaired algorithm. */
export function titleOf({ head }) {
  const printed = head.printed ? `, as printed${head.erratum ? ` (${head.erratum})` : ""}` : "";
  return (head.title || head.algorithm) + printed;
}

/** The names of sites as a list in words. */
export function list(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

const DOINGS = {
  begin: "The run begins",
  request: (name) => `${name} asks`,
  release: (name) => `${name} leaves`,
  crash: (name) => `${name} crashes`,
  restart: (name) => `${name} comes back`,
  pause: (name) => `${name} is paused`,
  resume: (name) => `${name} goes on`,
  cut: () => "The network is cut",
  heal: () => "The network is whole again",
  note: () => "Note",
};

/** One step in sentences: what happened, what it caused, what it changed. */
export function describe(run, n) {
  const step = run.steps[n];
  if (step.what === "note" && step.text) return sentence(step.text);
  const parts = [doing(run, step) + consequences(run, step) + "."];
  const changes = changed(run, n).flatMap(inBrief);
  if (step.text) parts.push(sentence(step.text[0].toUpperCase() + step.text.slice(1)));
  if (changes.length) parts.push(`Changed ${changes.join("; ")}.`);
  return parts.join(" ");
}

function sentence(text) {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function doing(run, step) {
  const name = run.names[step.site];
  const message = run.messages.get(step.message);
  if (step.what === "deliver" && message) return `${name} receives ${showMessage(message)} from ${run.names[message.from]}`;
  if (step.what === "lose" && message) return `${showMessage(message)} from ${run.names[message.from]} to ${run.names[message.to]} is lost`;
  if (step.what === "duplicate" && message) return `${showMessage(message)} from ${run.names[message.from]} to ${run.names[message.to]} is duplicated`;
  if (step.what === "timeout") return `${name}'s timer ${step.timer} runs out`;
  const known = DOINGS[step.what];
  return typeof known === "function" ? known(name) : known || `${name}: ${step.what}`;
}

function consequences(run, step) {
  const clauses = [];
  const byText = new Map();
  for (const sent of step.sent || []) {
    const text = showMessage(sent);
    byText.set(text, [...(byText.get(text) || []), run.names[sent.to]]);
  }
  for (const [text, to] of byText) clauses.push(`sends ${text} to ${list(to)}`);
  if (step.enter) clauses.push(step.fence === undefined ? "enters" : `enters with fence ${step.fence}`);
  if (step.chose !== undefined) clauses.push(`had chosen ${show(step.chose)}`);
  return clauses.length ? `, ${list(clauses)}` : "";
}

/** The fields that a step changed, with their values before and after. */
export function changed(run, n) {
  const step = run.steps[n];
  if (!step.changed || n === 0) return [];
  const before = run.stateAt(n - 1).fields[step.site];
  return Object.entries(step.changed).map(([name, after]) => ({ name, was: before[name], is: after, before: show(before[name]), after: show(after) }));
}

/** Of a long list that kept its length only the places that changed, where they are few. */
function inBrief({ name, was, is, before, after }) {
  const whole = [`${name}: ${before} → ${after}`];
  if (!Array.isArray(was) || !Array.isArray(is) || was.length !== is.length || is.length < LONG) return whole;
  const [old, now] = [was.map(show), is.map(show)];
  const places = now.flatMap((value, i) => (value === old[i] ? [] : [`${name}[${i}]: ${old[i]} → ${value}`]));
  return places.length <= FEW_PLACES ? places : whole;
}

/** The tables "Paper name, here, meaning" at the heads of an algorithm's files: names and meanings by field. */
export function paperNames(files) {
  const names = new Map();
  for (const { text } of files) readNames(text.split("\n"), names);
  return names;
}

function readNames(rows, names) {
  const head = rows.findIndex((row) => /^Paper name\s+here/.test(row));
  if (head < 0) return;
  const here = rows[head].indexOf("here");
  const meaning = rows[head].indexOf("meaning");
  for (const row of rows.slice(head + 1)) {
    if (!row.trim()) break;
    const paper = row.slice(0, here).trim();
    const ours = (meaning > 0 ? row.slice(here, meaning) : row.slice(here)).replace(/\(.*/, "").split(",");
    const theirs = paper.split(",");
    ours.map((each) => each.trim().replace(/\[.*/, "")).forEach((field, i) => {
      const name = theirs.length === ours.length ? theirs[i].trim() : paper;
      if (field && !names.has(field)) names.set(field, { paper: name, meaning: meaning > 0 ? row.slice(meaning).trim() : "" });
    });
  }
}

/** The steps that a search finds: a kind of message or event, a link as 3>1, a site by its name; in any order. */
export function search(run, query) {
  const words = query.trim().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const tests = words.map((word) => wanted(run, word));
  const found = [];
  run.steps.forEach((step, n) => {
    const delivered = run.messages.get(step.message);
    const facts = [...(delivered ? [delivered] : []), ...(step.sent || []).map((sent) => run.messages.get(sent.id))];
    const events = facts.length ? facts : [null];
    if (events.some((message) => tests.every((test) => test(step, message)))) found.push(n);
  });
  return found;
}

function wanted(run, word) {
  const link = /^(\S+?)(?:>|->|→)(\S+)$/.exec(word);
  const site = (text) => run.names.indexOf(text);
  if (link) return (step, message) => message && message.from === site(link[1]) && message.to === site(link[2]);
  if (site(word) >= 0) return (step) => step.site === site(word);
  const lower = word.toLowerCase();
  const does = (step) => [step.what, step.enter && "enter", step.exit && "exit", step.timer].filter(Boolean);
  return (step, message) =>
    (message && showMessage(message).toLowerCase().startsWith(lower)) ||
    does(step).some((each) => each.toLowerCase().startsWith(lower));
}
