"""What the README shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from prosec.compiler import compile
from prosec.source import Source

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_program_compiles_to_what_is_shown() -> None:
    compiled = compile(Source(blocks("prose")[0], "brief.prose"))
    assert compiled.diagnostics == []
    assert compiled.text is not None
    assert blocks("python")[0] in compiled.text


def test_quick_start_begins_with_two_commands_of_one_line() -> None:
    install, test = blocks("sh")[:2]
    assert install.count("\n") == test.count("\n") == 1
    assert "--provider simulate" in install
    assert "pytest" in test


def test_every_command_is_in_the_table() -> None:
    command = [sys.executable, "-m", "prosec", "--help"]
    help_text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  (\w+)  ", help_text.split("Commands:")[1], re.MULTILINE)
    assert commands
    for name in commands:
        assert f"`prosec {name}" in README
