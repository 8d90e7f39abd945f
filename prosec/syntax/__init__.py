"""Syntax: from text to the tree of a program."""

from prosec.syntax.parser import Parsed, parse

__all__ = ["Parsed", "parse"]
