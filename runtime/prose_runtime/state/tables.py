"""Tables in Markdown, padded so that they can be read as they stand."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table; a bar inside a cell is escaped."""
    cells = [head, *[[cell.replace("|", "\\|") for cell in row] for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return lines
