"""Diagnostics as JSON: the published schema, exactly."""

from __future__ import annotations

import json

from prosec.diagnostics import Diagnostic, Edit, Fix, Related
from prosec.report.json import file_json, render
from prosec.source import Source, Span


def span(*places: int) -> dict[str, dict[str, int]]:
    line, column, end_line, end_column = places
    return {
        "start": {"line": line, "column": column},
        "end": {"line": end_line, "column": end_column},
    }


def test_every_member_is_there() -> None:
    source = Source("agent é:\nagent é:\n", "dir/ü.prose")
    found = Diagnostic(
        "E006",
        "defined twice",
        Span(15, 16),
        "label",
        "rename",
        (Related("first", Span(6, 7)),),
        Fix("rename it", (Edit(Span(15, 16), "b"),), safe=True),
    )
    plain = Diagnostic("W012", "clash", Span(0, 9))
    text = render([file_json(source, [found, plain]), file_json(Source("", "b.prose"), [])])
    assert text.isascii()
    assert json.loads(text) == {
        "files": [
            {
                "path": "dir/ü.prose",
                "diagnostics": [
                    {
                        "code": "E006",
                        "severity": "error",
                        "message": "defined twice",
                        "span": span(2, 7, 2, 8),
                        "related": [{"message": "first", "span": span(1, 7, 1, 8)}],
                        "help": "rename",
                        "fix": {
                            "title": "rename it",
                            "safe": True,
                            "edits": [{"span": span(2, 7, 2, 8), "text": "b"}],
                        },
                    },
                    {
                        "code": "W012",
                        "severity": "warning",
                        "message": "clash",
                        "span": span(1, 1, 2, 1),
                        "related": [],
                        "help": None,
                        "fix": None,
                    },
                ],
            },
            {"path": "b.prose", "diagnostics": []},
        ]
    }


def test_a_raised_warning_is_an_error() -> None:
    found = Diagnostic("W027", "older form", Span(0, 0), raised=True)
    assert file_json(Source("", "a"), [found])["diagnostics"][0]["severity"] == "error"


def test_a_path_of_any_bytes_can_be_written() -> None:
    text = render([file_json(Source("", "\udcff.prose"), [])])
    assert json.loads(text)["files"][0]["path"] == "\udcff.prose"
