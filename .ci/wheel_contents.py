"""What a wheel and an sdist hold: all files of the package, and nothing that users do not need.

python .ci/wheel_contents.py soloist.whl soloist.tar.gz
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import PurePosixPath

SOURCE = PurePosixPath("src")
BESIDE = {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", "PKG-INFO", ".gitignore"}
"""Files of an sdist besides the package."""
EXTRAS = {"bench", "dask", "dev", "docs", "fast", "lab", "metrics", "peers", "tls", "watch"}


def package() -> set[str]:
    """The files of the package that are kept in the repository."""
    listed = subprocess.run(["git", "ls-files", "src"], capture_output=True, text=True, check=True).stdout
    return {str(PurePosixPath(name).relative_to(SOURCE)) for name in listed.splitlines()}


def compare(what: str, found: set[str], wanted: set[str]) -> None:
    if found != wanted:
        sys.exit(f"{what}: missing {sorted(wanted - found)}, too many {sorted(found - wanted)}")


def main(wheel: str, sdist: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [about] = [name for name in names if name.endswith(".dist-info/METADATA")]
        facts = archive.read(about).decode()
    compare("wheel", {name for name in names if ".dist-info/" not in name}, package())
    found = {line.partition(": ")[2] for line in facts.splitlines() if line.startswith("Provides-Extra: ")}
    if not found >= EXTRAS:
        sys.exit(f"wheel: it does not offer the extras {sorted(EXTRAS - found)}")
    with tarfile.open(sdist) as archive:
        names = [member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()]
    compare("sdist", set(names), {f"src/{name}" for name in package()} | BESIDE)
    print(f"wheel: {len(package())} files of the package, py.typed, pages and JSON among them; nothing else")


if __name__ == "__main__":
    main(*sys.argv[1:])
