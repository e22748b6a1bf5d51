// Two things that a page can do without: runs that are shown where they are told of, and a button that copies a block.
"use strict";

function button(text, action) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "soloist-button";
  made.textContent = text;
  made.addEventListener("click", () => action(made));
  return made;
}

// A link to the page of a run gets a button beside it, which shows that page below it, and takes it away again.
function offerToShow(link) {
  link.after(button("show it here", (pressed) => {
    const paragraph = link.closest("p");
    const shown = paragraph.nextElementSibling;
    if (shown?.classList.contains("soloist-run")) {
      shown.remove();
      pressed.textContent = "show it here";
      return;
    }
    const frame = document.createElement("iframe");
    frame.className = "soloist-run";
    frame.title = "The run, step by step";
    frame.src = link.href;
    paragraph.after(frame);
    pressed.textContent = "hide it";
  }));
}

// What stands after the prompt of a console is what somebody would type.
function typed(block) {
  const lines = block.textContent.trimEnd().split("\n");
  const commands = lines.filter((line) => line.startsWith("$ "));
  return (commands.length ? commands.map((line) => line.slice(2)) : lines).join("\n");
}

function offerToCopy(block) {
  block.append(button("copy", async (pressed) => {
    await navigator.clipboard.writeText(typed(block.querySelector("pre")));
    pressed.textContent = "copied";
  }));
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll('.bd-article a[href*="watch/"][href$=".html"]').forEach(offerToShow);
  if (navigator.clipboard) document.querySelectorAll("div.highlight").forEach(offerToCopy);
});
