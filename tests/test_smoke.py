"""The smoke tests, which other Pythons run: they need no extra, and a Python that is not here is named."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MARK = "pytest.mark." + "smoke"  # in two parts: `.ci/smoke` looks for files that have it in one
MARKED = [file for file in sorted((ROOT / "tests").rglob("test_*.py")) if MARK in file.read_text()]
THERE = sys.stdlib_module_names | {"soloist", "msgspec", "rich", "typer", "pytest"}
"""Modules that `.ci/smoke` installs, or that Python brings."""


def imported(file: Path) -> set[str]:
    """The modules that a file needs as soon as it is loaded, and those that our own ones among them need."""
    found: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            prefix = ".".join(file.relative_to(ROOT).parts[: -node.level]) if node.level else ""
            module = ".".join(filter(None, (prefix, node.module)))
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    ours = [ROOT / f"{name.replace('.', '/')}.py" for name in found if name.startswith("tests.")]
    return found.union(*(imported(path) for path in ours if path.is_file()))


def test_smoke_tests_need_no_extra() -> None:
    assert len(MARKED) >= 5
    for file in MARKED:
        needed = {name.split(".")[0] for name in imported(file)} - {"tests"}
        assert needed <= THERE, f"{file.name} needs {needed - THERE}"


def test_a_python_that_is_not_here_is_named() -> None:
    done = subprocess.run([ROOT / ".ci" / "smoke", "3.99"], capture_output=True, text=True, check=True)
    assert (
        done.stdout == "smoke: NOT RUN on Python 3.99, which is not here; to install it: pyenv install 3.99\n"
    )


def test_what_is_missing_in_a_wheel_or_too_many_is_named(tmp_path: Path) -> None:
    wheel = tmp_path / "soloist.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("soloist-0.dist-info/METADATA", "")
        archive.writestr("tests/test_smoke.py", "")
    line = [sys.executable, ".ci/wheel_contents.py", wheel, tmp_path / "soloist.tar.gz"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("wheel: missing [")
    assert "'soloist/py.typed'" in done.stderr
    assert "too many ['tests/test_smoke.py']" in done.stderr
