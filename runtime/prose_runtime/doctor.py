"""What a machine needs to run scripts: each thing looked at, with what to do where it is missing."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import UsageError
from .given import environment
from .providers.anthropic import CREDENTIALS, SDK_CREDENTIALS

OLDEST = (3, 11)
"""The first version of Python that the runtime works with."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: whether it is as it must be, and what was found or what to do."""

    good: bool
    subject: str
    text: str


def examined(prose_dir: Path, environ: Mapping[str, str]) -> list[Finding]:
    """Look at Python, the SDK, the key and the folder for runs. No key is ever shown."""
    return [_python(), _sdk(), _key(prose_dir, environ), _folder(prose_dir)]


def _python() -> Finding:
    version = sys.version.split()[0]
    if sys.version_info < OLDEST:
        return Finding(False, "Python", f"{version}; scripts need {OLDEST[0]}.{OLDEST[1]} or newer")
    return Finding(True, "Python", f"{version} ({sys.executable})")


def _sdk() -> Finding:
    try:
        import anthropic
    except ImportError as problem:
        return Finding(False, "anthropic", f"can't be imported ({problem}); install it: pip install anthropic")
    return Finding(True, "anthropic", anthropic.__version__)


def _key(prose_dir: Path, environ: Mapping[str, str]) -> Finding:
    try:
        known = environment(prose_dir, environ)
    except UsageError as problem:
        return Finding(False, "key", problem.message)
    for name in (*CREDENTIALS, *SDK_CREDENTIALS):
        if known.get(name):
            where = "the environment" if environ.get(name) else str(prose_dir / ".env")
            return Finding(True, "key", f"{name} is set in {where} (whether the API takes it was not tried)")
    missing = f"none: set {CREDENTIALS[0]}, in the environment or in {prose_dir / '.env'}"
    return Finding(False, "key", f"{missing}; --provider simulate needs none")


def _folder(prose_dir: Path) -> Finding:
    there = prose_dir
    while not there.exists() and there != there.parent:
        there = there.parent
    subject = "runs"
    try:
        with tempfile.NamedTemporaryFile(dir=there, prefix=".prose-doctor-") as file:
            file.write(b"x")
            os.fsync(file.fileno())
    except OSError as problem:
        what = f"{there} can't be written: {problem.strerror or problem}"
        return Finding(False, subject, f"{what}; choose another place with --prose-dir or PROSE_DIR")
    made = "" if there == prose_dir else " (made with the first run)"
    return Finding(True, subject, f"kept in {prose_dir}{made}, which can be written")
