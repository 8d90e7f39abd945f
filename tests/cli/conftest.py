"""Running the command in this process, with a stand-in for emission where a test is not about it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from invoking import HEADER, Prosec, Result

from prosec.analysis import Analysis
from prosec.cli import main
from prosec.source import Source
from prosec.syntax import nodes


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the developer's machine shows: neither skills, nor caches, nor colour."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("PROSEC_DEBUG", raising=False)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the working directory."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def prosec(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Prosec]:
    """Run `prosec` with arguments as the shell would."""

    def run(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["prosec", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Result(code, out, err)

    yield run
    gc.enable()


@pytest.fixture
def emission(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts that consist of their header and the source as comments."""

    def emit(
        program: nodes.Program,
        analysis: Analysis,
        source: Source,
        *,
        file: str,
        version: str,
        annotate: bool,
    ) -> str:
        body = "".join(f"# {line}\n" for line in source.text.splitlines())
        note = "# annotated\n" if annotate else ""
        return HEADER.format(name=file) + note + body

    monkeypatch.setattr("prosec.emit.emit", emit)
