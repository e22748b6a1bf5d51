"""`soloist new`: the start of an algorithm of one's own."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from soloist.course.new import new as write_new


def new(
    name: Annotated[str, typer.Argument(help="Small letters and hyphens, such as my-lock.")],
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to.")] = Path(),
) -> None:
    """Begin an algorithm of your own: a file that works, with the places to fill in marked, and its test.

    Examples:

        soloist new my-lock

        soloist check my_lock.py --nodes 3 --rounds 1
    """
    file, test = write_new(name, folder)
    print(f"{file} works as it stands; FILL IN marks what is yours to write. {test} is its test.\n")
    print(f"  soloist check {file} --nodes 3 --rounds 1")
    print(f"  soloist simulate {file} --nodes 10")
    print(f"  soloist watch {file} --html run.html")
    print(f"  pytest {test}{'' if find_spec('pytest') else '      # needs pip install pytest'}")
