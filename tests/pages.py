"""The generator of the docs' pages, for tests: it is a script in docs/, not a module of the package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).parents[1] / "docs"


def load() -> ModuleType:
    sys.path.insert(0, str(DOCS))  # as for a script, which finds its neighbours
    spec = importlib.util.spec_from_file_location("generate_pages", DOCS / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


generate = load()
stages: ModuleType = sys.modules["stages"]
