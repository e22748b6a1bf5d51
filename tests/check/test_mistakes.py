"""What beginners get wrong: each is found in a file that has nothing else wrong, and answered with what to do."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from soloist.algorithms import CATALOGUE, RECOVERY, VARIANTS, find_any, load
from soloist.algorithms._own import loaded
from soloist.check import advice, check, mistakes
from soloist.cli import main

TEMPLATE = (files("soloist.course") / "template" / "lock.py").read_text()
TICKET = 'class Ticket(Message, frozen=True):\n    """One more."""\n\n'


@pytest.fixture
def written(tmp_path: Path) -> Path:
    loaded.clear()
    return tmp_path / "mine.py"


@pytest.mark.parametrize("name", [*CATALOGUE, *RECOVERY, *VARIANTS])
def test_no_algorithm_of_ours_has_one(name: str) -> None:
    assert mistakes(find_any(name)) == []


def test_nor_has_the_template(written: Path) -> None:
    written.write_text(TEMPLATE)
    assert mistakes(load(str(written))) == []


MISTAKES = {
    "not frozen": (
        "class Grant(Message, frozen=True):",
        "class Grant(Message, frozen=False):",
        "Grant can be changed after it was sent; write `class Grant(Message, frozen=True):`",
    ),
    "no message": (
        "class Grant(Message, frozen=True):",
        "class Grant:",
        "Grant is sent, but is no message",
    ),
    "a list in a message": (
        '"""The addressee may enter."""',
        "queue: list[int] = []",
        "Grant.queue can be changed after it was sent; write `queue: tuple[int, ...]`",
    ),
    "nobody receives it": ("    @on(Grant)\n", "", "nobody receives Grant"),
    "a handler without on": ("    @on(Grant)\n", "", "nobody calls on_grant; write `@on(Grant)` above it"),
    "sending in a loop over a set": (
        "        self.busy = False\n",
        "        self.busy = False\n        for i in set(self.queue):\n            self.send(i, Grant())\n",
        "sends in the order of a set, which differs from run to run; write sorted(set(self.queue))",
    ),
    "a multicast to a set": (
        "        self.busy = False\n",
        "        self.busy = False\n        self.multicast({i for i in self.queue}, Grant())\n",
        "write sorted({i for i in self.queue})",
    ),
    "a multicast to part of a set": (
        "        self.busy = False\n",
        "        self.busy = False\n        self.multicast((i for i in set(self.queue) if i), Grant())\n",
        "write sorted(set(self.queue))",
    ),
    "async": ("    def on_grant(", "    async def on_grant(", "on_grant is async, but a step must not wait"),
    "sleep": (
        "        self.enter()  # once",
        "        import_time.sleep(1)\n        self.enter()  # once",
        "import_time.sleep() comes from outside",
    ),
    "random": (
        "        self.enter()  # once",
        "        if choice([0, 1]) is not None:\n            self.enter()  # once",
        "use self.choose(options), or do without random",
    ),
    "a file": (
        "        self.enter()  # once",
        "        open('/dev/null')\n        self.enter()  # once",
        "open() reads a file",
    ),
    "an endless loop": (
        "        self.enter()  # once",
        "        while True:\n            pass\n        self.enter()  # once",
        "this loop never ends",
    ),
    "a default that is shared": (
        "def grant_next(self)",
        "def grant_next(self, seen=[])",
        "the default [] is shared by all calls",
    ),
    "a field of the class": (
        "    busy: bool\n",
        "    busy: bool\n    seen = []\n",
        "seen belongs to all sites together",
    ),
    "a field that is none": (
        "        self.busy = False\n",
        "        self.busy = False\n        self.count = 1\n",
        "self.count is no field",
    ),
    "the phase": ("        self.busy = False\n", "        self.busy = False\n        self.phase = 0\n", "self.phase is not yours to set"),
    "no release": ("    def release(self)", "    def leave(self)", "has no `def release(self)`: what happens when a site has left"),
    "no enter": ("self.enter()", "print()", "nobody is ever let in; call `self.enter()`"),
    "global": (
        "        self.busy = False\n",
        "        global CARD\n        self.busy = False\n",
        "CARD would be known to all sites at once",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_and_says_what_to_do(name: str, written: Path) -> None:
    before, after, said = MISTAKES[name]
    assert before in TEMPLATE
    imports = "import time as import_time\nfrom random import choice\nfrom soloist.algorithms import"
    written.write_text(TEMPLATE.replace(before, after).replace("from soloist.algorithms import", imports, 1))
    found = mistakes(load(str(written)))
    assert said in " / ".join(each.text for each in found)
    lines = written.read_text().splitlines()
    assert all(1 <= each.line <= len(lines) for each in found)
    assert len(found) <= 3


def test_check_says_all_of_them_and_searches_nothing(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TEMPLATE.replace("frozen=True", "frozen=False")
    written.write_text(text)
    assert main(["check", str(written)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(":")[2] for line in err.splitlines()] == ["21", "25", "29"]


ADVICE = {
    "release that passes nothing on": (
        "            self.send(0, Release())",
        "            self.send(0, Request())",
        "Who should have told those that wait",
    ),
    "release that says nothing": (
        "            self.on_release(0, Release())\n        else:\n            self.send(0, Release())",
        "            self.on_release(0, Release())",
        "left and told nobody: `release` has to pass on",
    ),
    "enter twice": (
        "        self.enter()  # once",
        "        self.enter()\n        self.enter()  # once",
        "only where `self.phase is WAITING`",
    ),
    "nobody is asked": (
        "            self.send(0, Request())",
        "            pass",
        "Nobody was let in at all",
    ),
    "all are let in": ("not self.busy", "True", "Look at the second one to enter"),
}


@pytest.mark.parametrize("name", ADVICE)
def test_what_a_search_finds_has_advice(name: str, written: Path) -> None:
    before, after, said = ADVICE[name]
    assert before in TEMPLATE
    written.write_text(TEMPLATE.replace(before, after))
    assert said in advice(check(load(str(written)), nodes=3, rounds=1))


def test_what_holds_needs_no_advice() -> None:
    assert advice(check(find_any("central"), nodes=2, rounds=1)) == ""
