"""One self-contained HTML file of a run: the page's own modules, its style sheet and the trace, and nothing from elsewhere.

Browsers load no modules from `file://`, so the modules are put one after the other into one script. For that they keep to a
few rules: they lie in one directory, import only by `import { … } from "./x.js"`, export only declarations, and no name is
declared twice at the top of two modules.
"""

from __future__ import annotations

import base64
import gzip
import re
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from soloist.watch.trace import Trace

PAGE = Path(str(files("soloist.watch"))) / "page"
FIRST = "main.js"
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
"""What the browser is told to allow the file: what it carries itself."""
SHARED_POLICY = POLICY.replace("'unsafe-inline'", "'unsafe-inline' 'self' file:")
STYLE_LINK = '<link rel="stylesheet" href="page.css">'

IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"\./([\w-]+\.js)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?function|const|class)", re.MULTILINE)
LEFT = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


def html(trace: Trace, *, beside: Trace | None = None, packed: bool = True, shared: bool = False) -> str:
    """The file, of one run or of two. Packed the trace is some ten times smaller; every browser since 2023 unpacks it.

    Where many such files lie in one directory, `shared` leaves out of each what `shared_files` puts beside them.
    """
    data: dict[str, Any] = {"head": trace.head, "steps": trace.steps}
    if beside is not None:
        data["beside"] = beside
    if shared:
        policy, look, code = SHARED_POLICY, STYLE_LINK, '<script src="page.js"></script>'
    else:
        own = shared_files()
        policy, look, code = (
            POLICY,
            f"<style>\n{own['page.css']}</style>",
            f"<script>\n{own['page.js']}</script>",
        )
    page = (PAGE / "page.html").read_text(encoding="utf-8")
    for mark, text in (
        (
            "<title>Soloist</title>",
            f"<title>{escape(trace.head.title or trace.head.algorithm)} · Soloist</title>",
        ),
        (STYLE_LINK, f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n{look}'),
        (
            f'<script type="module" src="{FIRST}"></script>',
            f"<script>{_carried(data, packed)}</script>\n{code}",
        ),
    ):
        assert page.count(mark) == 1, f"page.html should have {mark} once"
        page = page.replace(mark, text)
    return page


def shared_files() -> dict[str, str]:
    """Style sheet and script of the page, which load from `file://` too."""
    return {
        "page.css": (PAGE / "page.css").read_text(encoding="utf-8"),
        "page.js": f"(() => {{\n{script()}}})();\n",
    }


def script() -> str:
    """All modules as one, each after those that it imports."""
    written: dict[str, str] = {}

    def write(name: str) -> None:
        if name in written:
            return
        text = (PAGE / name).read_text(encoding="utf-8")
        written[name] = ""  # a module that imports one of its importers would come here again
        for other in IMPORT.findall(text):
            write(other)
        text = EXPORT.sub("", IMPORT.sub("", text))
        assert not (left := LEFT.search(text)), f"{name} has {left[0]!r}, which cannot be put into one script"
        del written[name]
        written[name] = text

    write(FIRST)
    return "\n".join(written.values())


def _carried(data: dict[str, Any], packed: bool) -> str:
    text = msgspec.json.encode(data)
    if packed:
        text = msgspec.json.encode({"gzip": base64.b64encode(gzip.compress(text, 9, mtime=0)).decode()})
    safe = text.decode().replace("<", r"\u003c")  # "</script>" in a trace would end the script
    return f"window.SOLOIST = {safe};"
