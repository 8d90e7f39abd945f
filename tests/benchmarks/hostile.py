"""Inputs that nobody writes and everybody can send: huge texts, endless lines, nothing but mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def _text(size: int) -> str:
    word = "word {name} "
    return 'session "' + word * (size // len(word)) + '"\n'


def _triple(size: int) -> str:
    line = "  a line of the prompt\n"
    return 'session """\n' + line * (size // len(line)) + '  """\n'


def _open_text(size: int) -> str:
    return f'let x = "{"a" * size}\n'


def _quotes(size: int) -> str:
    return '"' * size


def _list(size: int) -> str:
    return "let xs = [" + '"a", ' * (size // 5) + "1]\n"


def _sum(size: int) -> str:
    return f"let x = 1{' + 1' * (size // 4)}\n"


def _sessions(size: int) -> str:
    return 'session "a"\n' * (size // 10)


def _names(size: int) -> str:
    count = size // 40
    return "".join(f'let name_{n} = session "a"\n' for n in range(count)) + "".join(
        f"let other_{n} = name_{n}\n" for n in range(count)
    )


def _mistakes(size: int) -> str:
    return "let = \n" * (size // 10)


def _misspelt(size: int) -> str:
    # Few: each is compared to every agent, which took minutes for thousands.
    count = size // 4_000
    return "".join(f"agent helper_{n}:\n  model: sonnet\n" for n in range(count)) + "".join(
        f'session: helqer_{n} "a"\n' for n in range(count)
    )


def _brackets(size: int) -> str:
    return f"let x = {'(' * size}\n"


CHECKED: Mapping[str, Callable[[int], str]] = {
    "one text": _text,
    "one text of many lines": _triple,
    "a text that never ends": _open_text,
    "nothing but quotes": _quotes,
    "a list": _list,
    "a sum": _sum,
    "opening brackets": _brackets,
    "lines of sessions": _sessions,
    "lines of names": _names,
    "lines of mistakes": _mistakes,
    "lines of misspelt agents": _misspelt,
}
"""Makers of inputs by what they are; each takes a size, in characters of the simplest ones."""

BUILT: Mapping[str, Callable[[int], str]] = {
    "one text": _text,
    "one text of many lines": _triple,
}
"""Those that are programs, and that black formats in bearable time."""
