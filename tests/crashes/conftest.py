"""What crash tests share: one nursery for all lives of a test process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from living import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    opened = Nursery.open()
    yield opened
    opened.close()
