"""Identities: what makes a step the same step in another life of its run.

identity = scope path + content + occurrence. Nothing that may differ between two lives of an unchanged program goes
in: no numbers, dates, run ids, places on disk, lines or orders of arrival.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from .providers.protocol import JSON
from .tasks import Entry
from .values import Value

_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False).encode

ROOT = ""
"""The scope path of the root."""


def digest(text: str) -> str:
    """32 hexadecimal digits of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def digest_of(value: Value) -> str:
    """The digest of a value's kind and content, computed once per value."""
    if value._digest is None:
        data = value._data
        if isinstance(data, tuple):
            inner = "\n".join([digest_of(item) for item in data])
        elif isinstance(data, dict):
            inner = "\n".join([f"{digest(name)}{digest_of(data[name])}" for name in sorted(data)])
        else:
            inner = value.text
        object.__setattr__(value, "_digest", digest(f"{value.kind}\n{inner}"))
    assert value._digest is not None
    return value._digest


def content(kind: str, parts: Mapping[str, JSON]) -> str:
    """The digest of what a step asks and shows; absent and empty parts are the same."""
    given = [kind]
    for name in sorted(parts):
        part = parts[name]
        if isinstance(part, str):
            # Most parts are texts: with their lengths they need no encoding.
            if part:
                given.append(f'{name}"{len(part)}"{part}')
        elif part or part is False or part == 0:
            given.append(f"{name}{_canonical(part)}")
    return digest("\n".join(given))


def labelled(entries: Sequence[Entry]) -> list[JSON]:
    """Labels and digests, in turn, of the values that a step is shown."""
    shown: list[JSON] = []
    for entry in entries:
        shown.append(entry.label)
        shown.append(entry.value._digest or digest_of(entry.value))
    return shown


def branch_path(path: str, name: str) -> str:
    """The scope path of a parallel's branch."""
    return f"{path}/{name}"


def round_path(path: str, item: Value, number: int) -> str:
    """The scope path of a concurrent round; `number` counts the equal items before it."""
    return f"{path}/{digest_of(item)}.{number}"


def identity(path: str, content_digest: str, occurrence: int) -> str:
    """The identity of a step or frame."""
    return digest(f"{path}\n{content_digest}\n{occurrence}")


def chained(chain: str, link: str) -> str:
    """A chain with one more link: an agent's invocations, or what changed the world."""
    return digest(f"{chain}\n{link}")


def folded(before: str, branches: Sequence[str]) -> str:
    """A chain after a join, given those of the branches: the one that grew, or all that did in written order."""
    grown = [chain for chain in branches if chain != before]
    if len(grown) == 1:
        return grown[0]
    for chain in grown:
        before = chained(before, chain)
    return before
