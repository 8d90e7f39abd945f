"""Where the state of a run is kept."""

from __future__ import annotations

from pathlib import Path

from ..faults import UNARMED, Faults
from .store import Stores


def stores_of(prose_dir: Path, faults: Faults = UNARMED) -> Stores:
    """The place where runs are kept."""
    from .folders import FilesystemStores

    return FilesystemStores(prose_dir, faults)
