"""The start of an algorithm of one's own: a file that passes every check, and its test."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from soloist.algorithms import taken
from soloist.algorithms._own import NAME
from soloist.core import UsageError
from soloist.core.checked import a, a_path


def new(name: str, folder: Path | str) -> list[Path]:
    """Write both files; nothing that is there is changed."""
    folder = a_path("the folder", folder)
    if not NAME.fullmatch(a(str, "a name", name)) or name[0].isdigit():
        raise UsageError(f"a name has small letters, digits and hyphens, such as my-lock, not {name!r}")
    if name in taken():
        raise UsageError(f"the name {name} is taken, `soloist algorithms` lists all; choose another")
    stem = name.replace("-", "_")
    made = {folder / f"{stem}.py": "lock.py", folder / f"test_{stem}.py": "test_lock.py"}
    for path in made:
        if path.exists():
            raise UsageError(f"{path} is there already; choose another name, or another directory")
    for path, source in made.items():
        text = (files(__package__) / "template" / source).read_text(encoding="utf-8")
        write(path, _named(text, name))
    return list(made)


def _named(text: str, name: str) -> str:
    stem = name.replace("-", "_")
    words = name.split("-")
    for before, after in {
        "TemplateLock": "".join(word.capitalize() for word in words),
        "template-lock": name,
        "template_lock": stem,
        "Template lock": " ".join(words).capitalize(),
        "My lock": " ".join(words).capitalize(),
        "FILE --": f"{stem}.py --",
    }.items():
        text = text.replace(before, after)
    return text


def write(path: Path, text: str) -> None:
    """Make a file that is not there yet; others may read it, and not write it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        path.chmod(path.stat().st_mode & ~0o022)
    except FileExistsError:
        if not path.parent.is_dir():
            raise UsageError(f"{path.parent} is no directory; nothing was changed") from None
        raise UsageError(f"{path} is there already; nothing was changed") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
