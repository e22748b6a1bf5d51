"""`soloist grade`: hand-ins of the course, judged."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TextIO

import msgspec
import typer

from soloist.cli import arguments as arg
from soloist.cli.output import STANDARD_OUTPUT, print_json, write_text
from soloist.core import UsageError
from soloist.course.exercise import number_of
from soloist.course.grade import Settings
from soloist.course.grade import grade as grade_one
from soloist.course.hand_ins import Line, Table, grade_all, wanted
from soloist.course.verdict import Verdict, html, text


def grade(
    path: Annotated[Path, typer.Argument(help="A hand-in, such as exercise3.py; or a folder of them.")],
    exercise: Annotated[
        int | None,
        typer.Option("--exercise", "-e", metavar="NUMBER", help="Which one, where its name does not say so."),
    ] = None,
    checks: Annotated[
        Path | None,
        typer.Option("--checks", metavar="DIR", help="More checks, of your own: exercise3.toml in DIR."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="Write the verdict as a page; of a folder: into FILE, a directory."
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Of a folder: write the table here, not to the screen."),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="T", help="Give up a hand-in after T seconds.")
    ] = 60.0,
    memory: Annotated[
        int, typer.Option("--memory", metavar="MIB", help="So much memory for a hand-in.")
    ] = 1024,
    jobs: Annotated[
        int, typer.Option("--jobs", metavar="J", help="Hand-ins judged at a time; 0: one per core.")
    ] = 1,
    json: arg.Json = False,
) -> None:
    """Judge a hand-in of the course, in a process of its own; or a folder of them, as a table (CSV).

    The exit code is 0 if all checks are passed, 1 if one fails, 3 if one could not be finished. Of a
    folder it is 0 once all are graded.

    Examples:

        soloist grade exercise3.py

        soloist grade exercise3.py --html verdict.html

        soloist grade hand-ins --checks my-checks --csv marks.csv --jobs 0
    """
    settings = Settings(seconds, memory, page is not None)
    if not path.exists():
        raise UsageError(f"cannot read {path}: there is no such file or directory")
    if path.is_dir():
        lines = _graded(path, exercise, checks, settings, jobs, page)
        if json:
            print_json(list(lines))
            return
        with _opened(csv) as sink:
            rows = Table(sink)
            for line in lines:
                rows.add(line)
                if csv and sys.stderr.isatty():
                    print(f"{line.hand_in}: {line.verdict}", file=sys.stderr)
        return
    if csv:
        raise UsageError(f"--csv is for a folder of hand-ins, and {path} is none")
    verdict = grade_one(path, wanted(number_of(path) if exercise is None else exercise, checks), settings)
    if page:
        write_text(page, html(verdict), "page")
    print_json({**msgspec.to_builtins(_brief(verdict)), "verdict": verdict.verdict}) if json else print(
        text(verdict)
    )
    raise typer.Exit(verdict.exit_code())


def _graded(
    folder: Path, exercise: int | None, checks: Path | None, settings: Settings, jobs: int, pages: Path | None
) -> Iterator[Line]:
    if jobs < 0:
        raise UsageError(f"jobs must be at least 0 (one per core), not {jobs}")

    def keep(path: Path, verdict: Verdict) -> None:
        if pages:
            name = path.relative_to(folder).with_suffix(".html").as_posix().replace("/", "_")
            write_text(pages / name, html(verdict), "page")

    if pages:
        try:
            pages.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot write pages to {pages}: {error.strerror}") from None
    return grade_all(folder, exercise, checks, settings, jobs or os.cpu_count() or 1, keep)


@contextmanager
def _opened(path: Path | None) -> Iterator[TextIO]:
    """A file for the table, before anything is graded for it; or standard output."""
    if path is None or path in STANDARD_OUTPUT:
        yield sys.stdout
        return
    try:
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the table to {path}: {error.strerror}") from None
    with file:
        yield file


def _brief(verdict: Verdict) -> Verdict:
    """Without pages, which have a file of their own."""
    outcomes = tuple(msgspec.structs.replace(each, page="") for each in verdict.outcomes)
    return msgspec.structs.replace(verdict, outcomes=outcomes)
