"""Diagnostics as JSON for programs; lines and columns count from 1, columns in characters."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypedDict

from prosec.diagnostics import Diagnostic, Fix
from prosec.source import Source, Span


class PositionJson(TypedDict):
    line: int
    column: int


class SpanJson(TypedDict):
    start: PositionJson
    end: PositionJson


class RelatedJson(TypedDict):
    message: str
    span: SpanJson


class EditJson(TypedDict):
    span: SpanJson
    text: str


class FixJson(TypedDict):
    title: str
    safe: bool
    edits: list[EditJson]


class DiagnosticJson(TypedDict):
    code: str
    severity: str
    message: str
    span: SpanJson
    related: list[RelatedJson]
    help: str | None
    fix: FixJson | None


class FileJson(TypedDict):
    path: str
    diagnostics: list[DiagnosticJson]


def render(files: Iterable[FileJson]) -> str:
    """The report over all files, indented, in ASCII, so that no locale can spoil it."""
    return json.dumps({"files": list(files)}, indent=2) + "\n"


def file_json(source: Source, diagnostics: Iterable[Diagnostic]) -> FileJson:
    """One file's part of the report."""
    return {
        "path": source.path,
        "diagnostics": [_diagnostic(source, diagnostic) for diagnostic in diagnostics],
    }


def _diagnostic(source: Source, diagnostic: Diagnostic) -> DiagnosticJson:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "span": _span(source, diagnostic.span),
        "related": [
            {"message": related.message, "span": _span(source, related.span)}
            for related in diagnostic.related
        ],
        "help": diagnostic.help,
        "fix": None if diagnostic.fix is None else _fix(source, diagnostic.fix),
    }


def _fix(source: Source, fix: Fix) -> FixJson:
    return {
        "title": fix.title,
        "safe": fix.safe,
        "edits": [{"span": _span(source, edit.span), "text": edit.text} for edit in fix.edits],
    }


def _span(source: Source, span: Span) -> SpanJson:
    start, end = source.position(span.start), source.position(span.end)
    return {
        "start": {"line": start.line, "column": start.column},
        "end": {"line": end.line, "column": end.column},
    }
