// Run inside the page of a run by docs/stages.py: puts another run in, goes to a step, and takes its stage out as an SVG of its own.

async ({ data, n, site, width, height, title }) => {
  const KEY = 24; // the room for which arrow is which
  const EDGE = 24; // and for words at the right
  soloistPage.reload(document.getElementById("page"), data);
  const page = window.soloistPage;
  const [stage] = page.stages;
  Object.assign(stage.element.style, { position: "fixed", inset: "0 auto auto 0", width: `${width}px`, height: `${height - KEY}px` });
  stage.build();
  page.player.go(n, { glide: false });
  page.player.site = site;
  page.player.touch();
  page.player.draw(performance.now());

  const svg = stage.svg.cloneNode(true);
  addKey(svg);
  strip(svg);
  const colours = page.look.palette.map((colour, i) => [colour, `var(--kind-${i})`]);
  svg.setAttribute("viewBox", `0 0 ${width + EDGE} ${height}`);
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", title);
  const style = document.createElementNS(svg.namespaceURI, "style");
  style.textContent = rules(svg);
  const paper = document.createElementNS(svg.namespaceURI, "rect");
  paper.setAttribute("class", "ground");
  paper.setAttribute("width", width + EDGE);
  paper.setAttribute("height", height);
  svg.prepend(style, paper);
  let text = new XMLSerializer().serializeToString(svg);
  for (const [colour, name] of colours) for (const what of ["fill", "stroke"]) text = text.replaceAll(`${what}="${colour}"`, `style="${what}:${name}"`);
  return `${text.replaceAll(/(\d+\.\d)\d+/g, "$1").replaceAll(/><(g|path|circle|text|style|rect|defs)/g, ">\n<$1")}\n`;

  /** The key is text beside the stage in the page; here it is under it. */
  function addKey(svg) {
    let x = 12;
    for (const row of stage.element.querySelectorAll(".stage-key span")) {
      const arrow = row.querySelector("path").cloneNode();
      arrow.setAttribute("transform", `translate(${x} ${height - 14})`);
      const label = document.createElementNS(svg.namespaceURI, "text");
      label.setAttribute("class", "key");
      label.setAttribute("x", x + 32);
      label.setAttribute("y", height - 6);
      label.textContent = row.textContent;
      svg.append(arrow, label);
      x += 52 + 7 * row.textContent.length;
    }
  }

  /** What only a reader with a mouse or a keyboard would have of it, and what is not to be seen. */
  function strip(svg) {
    for (const each of svg.querySelectorAll("title")) each.remove();
    for (const each of svg.querySelectorAll("*")) {
      for (const name of ["tabindex", "role", "aria-label"]) each.removeAttribute(name);
      if (each.style.display === "none" || (each.matches(".glow") && !each.closest(".inside"))) each.remove();
      else if (["text", "path"].includes(each.localName) && !each.textContent && !each.getAttribute("d")) each.remove();
      else if (!each.getAttribute("style")) each.removeAttribute("style");
    }
    for (const each of svg.querySelectorAll("marker")) if (!svg.innerHTML.includes(`url(#${each.id})`)) each.remove();
    for (const each of svg.querySelectorAll("g, defs")) if (!each.childElementCount) each.remove();
  }

  /** The rules of the page's style sheet that say something about this picture, and the colours that they name. */
  function rules(svg) {
    const own = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
    const about = own.filter((rule) => rule.selectorText && !rule.selectorText.includes(":") && !["*", ".stage svg"].includes(rule.selectorText) && svg.querySelector(rule.selectorText));
    const text = [
      "svg { font: 14px system-ui, 'Noto Sans', 'DejaVu Sans', sans-serif; }", ".ground { fill: var(--ground); }", ".key { font-size: 12px; fill: var(--soft); }",
      ...about.map((rule) => rule.cssText),
    ].join("\n");
    const used = new Set([...(text + svg.innerHTML).matchAll(/var\((--[\w-]+)\)/g)].map(([, name]) => name));
    page.look.kinds.forEach((_, i) => used.add(`--kind-${i % 8}`));
    const named = (style) => [...used].sort().map((name) => `${name}: ${style.getPropertyValue(name).trim()};`).join(" ");
    const light = own.find((rule) => rule.selectorText === ":root");
    const dark = own.find((rule) => rule.media?.mediaText.includes("dark")).cssRules[0];
    return `svg { ${named(light.style)} }\n@media (prefers-color-scheme: dark) { svg { ${named(dark.style)} } }\n${text}\n`;
  }
}
