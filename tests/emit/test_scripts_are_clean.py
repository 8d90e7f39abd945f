"""What the compiler emits passes the tools that its readers use, for every example and every case program.

All scripts are built into one folder, and each tool runs once over all of them.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prosec.compiler import compile
from prosec.source import Source

ROOT = Path(__file__).parent.parent.parent
BUILD = """
import sys
from pathlib import Path
from prosec.compiler import compile
from prosec.source import Source

for path in sys.argv[1:]:
    print(compile(Source(Path(path).read_text("utf-8"), path)).text)
"""
LOAD = """
import importlib.util, sys
from pathlib import Path

for path in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location(Path(path).stem.replace("-", "_"), path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
"""


def sources() -> dict[str, str]:
    """Every program of this repository that must compile, by a name that a module can have."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "examples").glob("*.prose")):
        found[f"example_{path.stem}"] = path.read_text("utf-8")
    for path in sorted((ROOT / "tests" / "cases" / "build").glob("*.case")):
        found[f"case_{path.stem}"] = path.read_text("utf-8").partition("# output\n")[0]
    return {name.replace("-", "_"): text for name, text in found.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a script for each program."""
    built = tmp_path_factory.mktemp("scripts")
    for name, text in sources().items():
        compiled = compile(Source(text, f"{name}.prose"))
        assert compiled.text is not None, (
            name,
            [diagnostic.message for diagnostic in compiled.diagnostics],
        )
        (built / f"{name}.prose").write_bytes(text.encode())
        (built / f"{name}.py").write_bytes(compiled.text.encode())
    return built


def tool(*command: str, cwd: Path, **environment: str) -> str:
    """Run a tool over the scripts; what it says is the failure."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
    return done.stdout


def test_black(folder: Path) -> None:
    tool("-m", "black", "--check", "--quiet", ".", cwd=folder)


@pytest.mark.parametrize("rules", [(), ("--select", "E4,E7,E9,F")], ids=["today", "older"])
def test_ruff(folder: Path, rules: tuple[str, ...]) -> None:
    """The default rules, which were other ones before 0.15."""
    tool("-m", "ruff", "check", "--isolated", "--no-cache", "--quiet", *rules, ".", cwd=folder)


def test_mypy(folder: Path, tmp_path: Path) -> None:
    scripts = sorted(path.name for path in folder.glob("*.py"))
    cache = os.environ.get("MYPY_CACHE_DIR", str(tmp_path))
    tool("-m", "mypy", "--strict", "--cache-dir", cache, *scripts, cwd=folder)


def test_importing_a_script_does_nothing(folder: Path) -> None:
    scripts = sorted(path.name for path in folder.glob("*.py"))
    before = sorted(folder.rglob("*"))
    said = tool("-W", "error", "-B", "-c", LOAD, *scripts, cwd=folder)
    assert said == ""
    assert sorted(folder.rglob("*")) == before


def test_hash_seeds(folder: Path) -> None:
    programs = sorted(path.name for path in folder.glob("*.prose"))
    with ThreadPoolExecutor() as pool:
        one, other = pool.map(
            lambda seed: tool("-c", BUILD, *programs, cwd=folder, PYTHONHASHSEED=seed), "01"
        )
    assert one == other


def test_scripts_are_short(folder: Path) -> None:
    """At most 2.5 lines for a line of a program in the median, without the fixed frame and the footer."""
    ratios: list[float] = []
    for name, text in sources().items():
        script = (folder / f"{name}.py").read_text("utf-8")
        footer = (
            next(
                node for node in reversed(ast.parse(script).body) if isinstance(node, ast.Expr)
            ).lineno
            - 2
        )
        lines = len([line for line in text.split("\n") if line.strip()])
        ratios.append(max(0, footer - 24) / lines)
    ratios.sort()
    assert ratios[len(ratios) // 2] <= 2.5


def test_scripts_keep_to_python_3_11(folder: Path) -> None:
    for script in folder.glob("*.py"):
        ast.parse(script.read_text("utf-8"), feature_version=(3, 11))
