"""The documentation site, as `make docs` makes it: no warning, no dead link, nothing from elsewhere, and all of the API."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from docstrings import in_rst  # type: ignore[import-not-found]  # a script in docs/
from sphinx.util.inventory import InventoryFile

import soloist
from soloist.net.shown import shown
from tests.pages import DOCS

PUBLIC = [
    f"soloist.{name}"
    for name in re.findall(
        r'"([\w.]+)"',
        re.search(r"^PUBLIC = \((.*?)\)", (DOCS / "conf.py").read_text(), re.M | re.S)[1],  # type: ignore[index]
    )
]
LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("link", "href"), ("source", "src")}
"""Where a page names what is loaded along with it. (A link of another kind than a style sheet is told apart below.)"""


class Page(HTMLParser):
    """What is linked, what is loaded, and the places that links can lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        for name, value in found.items():
            if value is None:
                continue
            if name in ("id", "name"):
                self.places.add(value)
            if (tag, name) in LOADS:
                self.loaded.append(value)
            elif name == "href":
                self.links.append(value)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-E",
        "-b",
        "html",
        str(DOCS),
        str(out),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return out


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text()) for path in site.rglob("*.html") if "_static" not in path.parts}


def dead(path: Path, page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    """The links of a page that lead nowhere. Whether a page of somebody else is there is not asked."""
    for link in (*page.links, *page.loaded):
        url = urlsplit(link)
        if url.scheme == "data":
            continue  # it carries what it names
        if url.scheme or url.netloc:
            if not (url.scheme in ("http", "https") and url.hostname and "." in url.hostname):
                yield link
            continue
        target = (path.parent / unquote(url.path)).resolve() if url.path else path
        place = unquote(url.fragment)
        if not target.is_file() or (place and target in pages and place not in pages[target].places):
            yield link


def test_no_link_is_dead(pages: dict[Path, Page]) -> None:
    assert len(pages) > 100
    for path, page in pages.items():
        assert list(dead(path, page, pages)) == [], path


def test_a_dead_link_is_noticed(tmp_path: Path) -> None:
    here = tmp_path / "here.html"
    page = Page(
        '<p id="up"><a href="#up">1</a><a href="#down">2</a><a href="gone.html">3</a><a href="http:/x">4</a>'
    )
    here.write_text("")
    assert list(dead(here, page, {here: page})) == ["#down", "gone.html", "http:/x"]


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        assert [
            each for each in page.loaded if urlsplit(each).scheme not in ("", "data") or each.startswith("//")
        ] == [], path
    for style in site.rglob("*.css"):
        assert re.findall(r"url\([\"']?(?:https?:)?//[^)]*\)|@import[^;]*//[^;]*", style.read_text()) == [], (
            style
        )


def test_the_runs_of_errata_are_there_with_what_they_share(site: Path, pages: dict[Path, Page]) -> None:
    told = {link for link in pages[site / "errata.html"].links if link.startswith("watch/")}
    assert len(told) > 30
    for link in told:
        assert "page.js" in (site / link).read_text()
    assert (site / "watch" / "page.js").read_text() == (DOCS / "watch" / "page.js").read_text()


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_is_on_a_page_with_its_docstring(package: str, site: Path) -> None:
    with (site / "objects.inv").open("rb") as file:
        known = {
            name
            for kind, found in InventoryFile.load(file, "", lambda base, path: path).items()
            if kind.startswith("py:")
            for name in found
        }
    module = import_module(package)
    missing = [name for name in module.__all__ if f"{package}.{name}" not in known]
    assert missing == []
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, f"{package}.{name} has no docstring"


RULES = ("soloist.views", "soloist.check.views")
"""Their methods are the rules of the agreement, named and explained in `docs/views.md`; nobody calls them by hand."""


@pytest.mark.parametrize("package", [name for name in PUBLIC if name not in RULES])
def test_every_public_method_says_what_it_does(package: str) -> None:
    """Its own docstring, or that of what it replaces."""
    module = import_module(package)
    silent = [
        f"{name}.{method}"
        for name in module.__all__
        if inspect.isclass(kind := getattr(module, name))
        for method, found in inspect.getmembers(kind, inspect.isfunction)
        if not method.startswith("_")
        and found.__module__.startswith("soloist.")
        and not inspect.getdoc(found)
    ]
    assert silent == []


@pytest.mark.parametrize(
    "kind", [kind for kind in vars(soloist.net).values() if inspect.isclass(kind) and shown(kind)]
)
def test_a_class_has_on_its_page_what_is_for_users_and_no_more(kind: type, site: Path) -> None:
    with (site / "objects.inv").open("rb") as file:
        known = InventoryFile.load(file, "", lambda base, path: path)
    prefix = f"soloist.net.{kind.__name__}."
    there = {
        name.removeprefix(prefix) for found in known.values() for name in found if name.startswith(prefix)
    }
    methods = {
        name
        for name in shown(kind)
        if callable(getattr(kind, name, None)) or isinstance(getattr(kind, name, None), property)
    }
    assert methods <= there <= shown(kind) | {"__init__"}


def test_the_names_of_the_package_are_those_of_its_locks() -> None:
    assert {*soloist.__all__} - {"__version__"} <= {*soloist.net.__all__}


def test_search_knows_the_words_of_the_pages(site: Path) -> None:
    index = (site / "searchindex.js").read_text()
    for word in ("quorum", "sentinel"):
        assert word in index


def test_docstrings_become_restructured_text() -> None:
    written = ["One *of* `many`, a_ and a|b:", "- **first**", "- second", "", "    $ literal *", "", "Text."]
    assert in_rst(written) == [
        "One \\*of\\* `many`, a\\_ and a\\|b:",
        "",
        "- **first**",
        "- second",
        "",
        "    $ literal \\*",
        "",
        "Text.",
    ]
    assert in_rst(["Text:", "", "    $ *", "", "More."]) == ["Text:", "", "::", "", "    $ *", "", "More."]
