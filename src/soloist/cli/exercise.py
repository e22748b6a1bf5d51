"""`soloist exercise`: the exercises of the course."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from soloist.course.exercise import COUNT, start, text
from soloist.course.exercise import exercise as find
from soloist.course.new import write


def exercise(
    number: Annotated[int | None, typer.Argument(metavar="[NUMBER]", help="Which one.")] = None,
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to.")] = Path(),
) -> None:
    """List the exercises of the course; or print the text of one, and write the file to start from.

    Examples:

        soloist exercise

        soloist exercise 1

        soloist grade exercise1.py
    """
    if number is None:
        for each in range(1, COUNT + 1):
            print(f"{each:>3}  {find(each).title}")
        return
    said, file = text(number), folder / f"exercise{number}.py"
    write(file, start(number))
    print(said)
    print(f"{file} is the file to start from.  soloist grade {file}")
