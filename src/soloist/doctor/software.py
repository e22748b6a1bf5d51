"""What is installed, and what is missing for what, with the line that installs it."""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import soloist
from soloist.bench.lock_peers import PEERS
from soloist.doctor.finding import Finding
from soloist.testing import browser
from soloist.testing.namespaces import Namespaces

EXTRAS = {
    "fast": "a faster event loop",
    "tls": "`soloist keys`, and when a certificate ends; TLS itself needs nothing",
    "metrics": "figures for Prometheus, spans for OpenTelemetry",
    "lab": "plots, fits and Parquet; and large searches of the checker in less time",
    "watch": "the page to play with and the dashboard; pages as files need nothing",
    "dask": "sweeps on a Dask cluster",
    "bench": "SimPy, to compare with in `soloist bench simulator`",
    "peers": "clients of other locks, to compare with in `soloist bench locks`",
    "docs": "the documentation site: `make docs` in a clone",
    "dev": "the tests and linters: `make venv` in a clone",
}
"""Each extra: what it is for."""
REQUIREMENT = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?\s*(?:>=\s*([0-9.]+))?")
EXTRA = re.compile(r"extra\s*==\s*['\"](\w+)['\"]")


def examine_software() -> Iterator[Finding]:
    where = Path(soloist.__file__).parent
    version = platform.python_version()
    yield _said("soloist", f"{soloist.__version__}, in {where}")
    yield _said("python", f"{platform.python_implementation()} {version}, {sys.executable}")
    yield from _packages()
    yield from _programs()
    yield from _servers()


def _said(name: str, said: str) -> Finding:
    return Finding("software", name, "ok", said)


def _packages() -> Iterator[Finding]:
    """The packages of each extra, and those that all need."""
    required = requirements()
    if not required:
        yield Finding(
            "software",
            "packages",
            "warning",
            "this copy was not installed by pip, so nobody knows what it needs",
            "pip install . in the directory of the clone",
        )
        return
    for extra, names in required.items():
        found = {name: (installed(name), least) for name, least in names.items()}
        lacking = [name for name, (have, least) in found.items() if have is None or older(have, least)]
        told = ", ".join(f"{name} {have}" for name, (have, _) in found.items() if have)
        if not lacking:
            yield _said(extra or "needed", f"{EXTRAS[extra]} ({told})" if extra in EXTRAS else told)
        elif not extra:
            said = f"missing or too old: {', '.join(lacking)}"
            yield Finding("software", "needed", "problem", said, "pip install --upgrade soloist")
        else:
            said = f"{EXTRAS.get(extra, extra)} (lacks {', '.join(lacking)})"
            yield Finding("software", extra, "absent", said, f"pip install 'soloist[{extra}]'")


def requirements() -> dict[str, dict[str, str]]:
    """For each extra ("": always) the packages that it names, and the least version of each. Empty if nobody knows."""
    try:
        lines = metadata.requires("soloist") or []
    except metadata.PackageNotFoundError:
        return {}
    found: dict[str, dict[str, str]] = {}
    for line in lines:
        extra, named = EXTRA.search(line), REQUIREMENT.match(line)
        if named and named[1] != "soloist" and not ("Windows" in line and sys.platform == "win32"):
            found.setdefault(extra[1] if extra else "", {})[named[1]] = named[2] or ""
    _without_others(found)
    order = ["", *EXTRAS]
    return {
        extra: found[extra] for extra in sorted(found, key=lambda e: order.index(e) if e in order else 99)
    }


def _without_others(found: dict[str, dict[str, str]]) -> None:
    """`dev` has all of the others, too; of its own it has only what they have not."""
    if "dev" in found:
        others = {name for extra, names in found.items() if extra != "dev" for name in names}
        found["dev"] = {name: least for name, least in found["dev"].items() if name not in others}


def installed(package: str) -> str | None:
    """The version that is there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def older(have: str, least: str) -> bool:
    """By the numbers at the start of both."""
    return _numbers(have) < _numbers(least)


def _numbers(version: str) -> list[int]:
    return [int(each) for each in re.findall(r"\d+", re.match(r"[\d.]*", version)[0])]  # type: ignore[index]


def _programs() -> Iterator[Finding]:
    """Programs that only tests and comparisons want."""
    yield _program("chromium", "tests of the page in a real browser", browser.missing())
    etcd = None if shutil.which("etcd") else "apt-get install etcd-server"
    yield _program("etcd", "tests with an etcd that decides who is a member", etcd)
    spin = None if shutil.which("spin") and shutil.which("gcc") else "apt-get install spin gcc"
    yield _program("spin", "SPIN beside our checker in `soloist bench checker`, and in tests", spin)
    lacking = Namespaces.missing()
    yield _program("namespaces", "tests between hosts that are none (root, and `ip`)", lacking)


def _program(name: str, purpose: str, lacking: str | None) -> Finding:
    if lacking:
        return Finding("software", name, "absent", purpose, lacking)
    return _said(name, f"there, for {purpose}")


def _servers() -> Iterator[Finding]:
    """Other lock services."""
    purpose = "other locks, in `soloist bench locks`"
    lacking = {peer.name: hint for peer in PEERS if (hint := peer.missing())}
    if there := [peer.name for peer in PEERS if peer.programs and peer.name not in lacking]:
        yield _said("servers", f"{', '.join(there)}: {purpose}")
    for hint in dict.fromkeys(lacking.values()):
        names = [name for name, line in lacking.items() if line == hint]
        yield Finding("software", "servers", "absent", f"{purpose}: {', '.join(names)}", hint)
