"""Emission: an analysed program as the text of a Python script.

Statements choose templates (statements.py, templates/), expressions and literals are libcst nodes
(expressions.py, literals.py), and the module is formatted, parsed again and given its footer (module.py).
"""

from __future__ import annotations

from prosec.analysis.model import Analysis
from prosec.emit.module import Module, ModuleError
from prosec.source import Source
from prosec.syntax import nodes

__all__ = ["ModuleError", "emit"]



def emit(
    program: nodes.Program, analysis: Analysis, source: Source, *, file: str, version: str, annotate: bool = False
) -> str:
    """The script that a program without errors compiles to. `file` is the program's name as scripts show it."""
    return Module(program, analysis, source, annotate).text(file, version, version)
