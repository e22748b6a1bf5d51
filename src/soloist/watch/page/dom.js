// Elements in one call, so that the other modules say what they show and not how it is put together.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "path", "circle", "line", "text", "title", "rect", "defs", "marker", "polygon"]);

/** An element with attributes and children. `on…` are listeners, null and false leave an attribute out. */
export function el(tag, attributes = {}, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG_NAMESPACE, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  for (const child of children.flat()) if (child !== null && child !== undefined) element.append(child);
  return element;
}

function setAttribute(element, name, value) {
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (value === true) element.setAttribute(name, "");
  else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
}

/** Sets the text of an element only where it differs: a frame that changes nothing costs no layout. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Makes `parent` hold exactly these children. */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** As `fill`. Whoever was on one of its buttons is on the one in that place afterwards, or on `parent` while it has none. */
export function refill(parent, ...children) {
  const buttons = () => [...parent.querySelectorAll("button, summary")].filter((each) => each.tagName === "SUMMARY" || !each.closest("details:not([open])"));
  const place = parent === document.activeElement ? 0 : buttons().indexOf(document.activeElement);
  fill(parent, ...children);
  if (place < 0) return;
  const left = buttons();
  (left[Math.min(place, left.length - 1)] || parent).focus({ preventScroll: true });
}

/** Makes `old` look like `fresh` by changing only what differs: what is selected, scrolled or focused in it stays. */
export function become(old, fresh) {
  if (old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
  if (old.nodeType === Node.TEXT_NODE) return setText(old, fresh.data);
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const [mine, wanted] = [[...old.childNodes], [...fresh.childNodes]];
  for (const child of mine.slice(wanted.length)) child.remove();
  wanted.forEach((child, i) => (mine[i] ? become(mine[i], child) : old.append(child)));
  return undefined;
}

export function clamp(value, least, most) {
  return Math.max(least, Math.min(most, value));
}
