"""What code and tests cite is in the repository: each page, and the section, erratum or rule that is named with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CITING = sorted(
    file
    for folder in ("src", "tests", "examples")
    for file in (ROOT / folder).rglob("*.py")
    if file != Path(__file__)
)
PATH = re.compile(r'(?<!")"[\w-]+\.md"')
"""A part of a path that code puts together: no citation."""
PAGE = re.compile(r"(?<![\w/{}.*-])([\w/-]+\.md)\b(?:,\s+(\"[^\"]+\"|[a-z-]+ [A-Z]\d+|[VMP]\d+))?")


def dangling(text: str) -> Iterator[str]:
    """The citations in a text that lead nowhere."""
    for page, place in PAGE.findall(PATH.sub("", text)):
        file = ROOT / page
        if not file.is_file():
            yield page
        elif place and not _has(file.read_text(), place):
            yield f"{page}, {place}"


def _has(page: str, place: str) -> bool:
    """A heading, an erratum (which is one, too), or a rule in bold."""
    if re.fullmatch(r"[VMP]\d+", place):
        return f"**{place}**" in page
    headings = re.findall(r"^#+ (.+?)(?: \{.*\})?$", page, re.MULTILINE)
    return place.strip('"') in headings


@pytest.mark.parametrize("file", CITING, ids=lambda file: str(file.relative_to(ROOT)))
def test_citations_lead_somewhere(file: Path) -> None:
    lines = " ".join(line.strip() for line in file.read_text().splitlines())
    assert list(dangling(lines)) == []


def test_a_dangling_citation_is_noticed() -> None:
    text = 'lab.md, section 2; docs/checking.md, "Reductions"; docs/checking.md, "Nonsense"; docs/errata.md, maekawa M99'
    assert list(dangling(text)) == ["lab.md", 'docs/checking.md, "Nonsense"', "docs/errata.md, maekawa M99"]
    assert list(dangling("docs/views.md, M6; docs/views.md, M66")) == ["docs/views.md, M66"]
