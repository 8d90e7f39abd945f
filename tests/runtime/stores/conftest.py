"""The kinds of stores as fixtures, and the way to work on one run."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pytest
from kinds import KINDS, Kind
from prose_runtime.state.store import Stores

T = TypeVar("T")


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    made: Kind = request.param
    return made


@pytest.fixture(params=[kind for kind in KINDS if kind.keeps], ids=lambda kind: kind.name)
def keeping(request: pytest.FixtureRequest) -> Kind:
    made: Kind = request.param
    return made


@pytest.fixture
def stores(keeping: Kind, tmp_path: Path) -> Stores:
    """The place of a kind that keeps runs."""
    return keeping.place(tmp_path)
