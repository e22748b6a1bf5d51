"""How Sphinx makes the documentation site of the pages in this directory: `make docs`, into site/.

Nothing is fetched while the site is made, and its pages load nothing from elsewhere: no inventories of other projects, no fonts, no scripts.
"""

from __future__ import annotations

import shutil
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))  # for `docstrings`

from docstrings import in_rst  # noqa: E402
from sphinx.pycode import ModuleAnalyzer  # noqa: E402

from soloist import __version__  # noqa: E402

project = "Soloist"
copyright = "the authors of Soloist, MIT licence"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["watch", "_static", "**/.*"]
source_suffix = {".md": "markdown"}
highlight_language = "text"  # of blocks that name none

# Links to headings are spelled as GitHub spells them, so that they lead somewhere there as well as here.
myst_heading_anchors = 4
nitpicky = True
# Types of the standard library and of modules that are not public have no page to lead to.
nitpick_ignore_regex = [("py:.*", ".*")]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_class_signature = "separated"
python_use_unqualified_type_names = True
add_module_names = False
default_role = "code"  # single backticks in docstrings
maximum_signature_line_length = 90
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "Soloist"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {page: [] for page in ("index", "errata", "comparisons", "benchmarks")}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 8,
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "show_toc_level": 1,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def keep_links_to_runs(app: Any, doctree: Any) -> None:
    """Links to pages of runs (`watch/….html`) stay as they are: these pages share files and are copied as they lie there.

    MyST would make a download of each, alone in a directory of its own.
    """
    from docutils import nodes
    from sphinx.addnodes import download_reference

    for link in list(doctree.findall(download_reference)):
        target = link["reftarget"]
        if "watch/" in target and target.endswith(".html"):
            link.replace_self(
                nodes.reference(
                    "", "", *(child.deepcopy() for child in link.children), refuri=target, internal=True
                )
            )


def name_the_node(app: Any, doctree: Any) -> None:
    """`Node` in an annotation is a node of the network, outside of `soloist.views`, which has records of that name."""
    from sphinx.addnodes import pending_xref

    for link in doctree.findall(pending_xref):
        if link.get("refdomain") == "py" and link["reftarget"] == "Node":
            inside = "views" if (link.get("py:module") or "").startswith("soloist.views") else "net"
            link["reftarget"] = f"soloist.{inside}.Node"


def copy_runs(app: Any, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        shutil.copytree(DOCS / "watch", Path(app.outdir) / "watch", dirs_exist_ok=True)


def rewrite_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if what == "data":
        lines[:] = said_of_constant(name.rpartition(".")[2], obj)
    lines[:] = in_rst(lines)


def said_of_constant(name: str, value: Any) -> list[str]:
    """The docstring of a constant, which stands where it is defined and not where it is exported from."""
    for module in [m for m in sys.modules if m.startswith("soloist.")]:
        if getattr(sys.modules[module], name, None) is value:
            said = ModuleAnalyzer.for_module(module).find_attr_docs().get(("", name))
            if said:
                return list(said)
    return []


PUBLIC = (
    "core",
    "algorithms",
    "algorithms.printed",
    "sim",
    "check",
    "check.views",
    "views",
    "net",
    "testing",
    "lab",
    "watch",
    "history",
)
"""The packages whose `__all__` is on the pages of the API."""


@cache
def exported() -> dict[str, str]:
    """Where a name is defined, and where it is on the pages: annotations have the one, readers want the other."""
    found = {}
    for package in PUBLIC:
        module = import_module(f"soloist.{package}")
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, type):
                found[f"{value.__module__}.{value.__qualname__}"] = f"soloist.{package}.{name}"
    return found


def find_exported(app: Any, env: Any, node: Any, content: Any) -> Any:
    if node.get("refdomain") != "py" or (name := exported().get(node["reftarget"])) is None:
        return None
    return env.get_domain("py").resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)


def show_users_what_is_theirs(
    app: Any, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Of a class that says what is for users, that and no more, wherever it inherits it; of others, what they define."""
    from soloist.net.shown import shown

    place = app.env.temp_data.get("autodoc:module"), app.env.temp_data.get("autodoc:class")
    kind = getattr(import_module(place[0]), place[1], None) if all(place) else None
    if what not in ("class", "exception") or not isinstance(kind, type):
        return None
    if name == "__init__":
        return True if getattr(kind, "_is_protocol", False) else None  # nobody makes one
    if theirs := shown(kind):
        return skip or name not in theirs
    return None if name in vars(kind) or name in vars(kind).get("__annotations__", {}) else True


def setup(app: Any) -> None:
    # Before the files to download are collected, which is at 500.
    app.connect("doctree-read", keep_links_to_runs, priority=400)
    app.connect("doctree-read", name_the_node)
    app.connect("missing-reference", find_exported)
    app.connect("build-finished", copy_runs)
    app.connect("autodoc-process-docstring", rewrite_docstring)
    app.connect("autodoc-skip-member", show_users_what_is_theirs)
