"""What people write who come from other languages, forks and later formats, and how to write it here.

These are tables of words and marks with the help that the parser gives for them; nothing here parses.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from prosec.diagnostics import Diagnostic, Edit, Fix
from prosec.source import Span
from prosec.syntax import tokens as t

CLOSING = {"(": ")", "[": "]", "{": "}"}
OPENING = {")": "(", "]": "[", "}": "{"}

RENAMED = {"agent": "worker", "loop": "round", "option": "choice_made", "use": "usage", "block": "part"}
"""Names to use instead of a reserved word."""


class Hint(NamedTuple):
    """Why a word or mark is refused and what to write; `replacement` stands in for it as it is."""

    code: str
    message: str
    help: str
    replacement: str = ""


_RANGE = Hint("E005", "there are no ranges", "write `repeat 5 as i:` to count, or list the numbers: `[1, 2, 3]`")
_TERNARY = Hint(
    "E005",
    "there is no `? :` expression",
    "write `if condition:` and `else:` with an assignment in each, or `a or b` for a fallback",
)
_IN_PLACE = "write `x = x + ...`"

MARKS = {
    "&&": Hint("E005", "there is no `&&`", "write `and`", "and"),
    "||": Hint("E005", "there is no `||`", "write `or`", "or"),
    "!": Hint("E005", "there is no `!`", "write `not`", "not "),
    "&": Hint("E005", "there is no `&`", "write `and` for both conditions, `+` to join texts"),
    "?": _TERNARY,
    "..": _RANGE,
    "...": Hint("E005", "there are no ranges and no spreading", "write `a + b` to join lists"),
    "=>": Hint("E005", "there are no functions in expressions", "write a pipeline, `items | map: ...`, or a `block`"),
    "+=": Hint("E005", "there is no `+=`", _IN_PLACE),
    "-=": Hint("E005", "there is no `-=`", "write `x = x - ...`"),
    "++": Hint("E005", "there is no `++`", "write `x = x + 1`"),
    ";": Hint("E004", "statements are not ended by `;`", "put each statement on its own line"),
    "@": Hint(
        "E052", "`@label` is not part of this dialect", "put the steps into a `block name:` and run it by `do name`"
    ),
}
"""Operators and marks that mean nothing here."""

AFTER_A_VALUE = frozenset({"as", "if", "is", "and", "or", "in", "not", "context", "with", "from"})
"""Words which may be meant to follow a string, so that they don't show that it ended too early."""

STATEMENTS = {
    "gate": Hint(
        "E052",
        "`gate` is not part of this dialect",
        "write `choice **what to decide**:` with options, or `if **condition**:`",
    ),
    "approve": Hint(
        "E052",
        "`approve` is not part of this dialect",
        "write a session that asks for the decision, then `if **it was approved**:`",
    ),
    "exec": Hint("E052", "`exec` is not part of this dialect", 'write `session "Run ..."`: the session has a shell'),
    "shell": Hint("E052", "`shell` is not part of this dialect", 'write `session "Run ..."`: the session has a shell'),
    "ask": Hint(
        "E052",
        "`ask` is not part of this dialect",
        'declare `input name: "the question"` for what a person gives, or write `session "..."` to ask the model',
    ),
    "foreach": Hint("E052", "`foreach` is not part of this dialect", "write `for item in items:`"),
    "while": Hint("E005", "there is no `while` statement", "write `loop while **condition**:`", "loop while"),
    "until": Hint("E005", "there is no `until` statement", "write `loop until **condition**:`", "loop until"),
    "switch": Hint("E005", "there is no `switch`", "write `choice **criterion**:` with options, or `if` and `elif`"),
    "match": Hint("E005", "there is no `match`", "write `choice **criterion**:` with options, or `if` and `elif`"),
    "when": Hint("E005", "there is no `when`", "write `if condition:`", "if"),
    "unless": Hint("E005", "there is no `unless`", "write `if not condition:`", "if not"),
    "var": Hint("E005", "there is no `var`", "write `let`", "let"),
    "set": Hint("E005", "there is no `set`", "write `name = value`, or `let name = value` the first time"),
    "def": Hint("E005", "there are no functions", "write `block name(parameters):` and `do name(...)`", "block"),
    "function": Hint("E005", "there are no functions", "write `block name(parameters):` and `do name(...)`", "block"),
    "func": Hint("E005", "there are no functions", "write `block name(parameters):` and `do name(...)`", "block"),
    "fn": Hint("E005", "there are no functions", "write `block name(parameters):` and `do name(...)`", "block"),
    "skill": Hint(
        "E005", "there is no `skill` statement", "write `block name(parameters):` and `do name(...)`", "block"
    ),
    "call": Hint("E005", "there is no `call`", "write `do name(...)` for a block", "do"),
    "run": Hint("E005", "there is no `run`", "write `do name(...)` for a block, `session: name` for an agent"),
    "invoke": Hint("E005", "there is no `invoke`", "write `do name(...)` for a block, `session: name` for an agent"),
    "print": Hint("E005", "there is no `print`", "write `output name = value`"),
    "log": Hint("E005", "there is no `log`", "write `output name = value`, or a comment"),
    "echo": Hint("E005", "there is no `echo`", "write `output name = value`"),
    "async": Hint("E005", "there is no `async`", "write `parallel:`; each of its branches runs at once"),
    "await": Hint("E005", "there is no `await`", "a `parallel:` waits for its branches; write the value as it is"),
    "spawn": Hint("E005", "there is no `spawn`", "write `parallel:`; each of its branches runs at once"),
    "rethrow": Hint("E045", "there is no `rethrow`", "write `throw` alone, in a catch", "throw"),
    "raise": Hint("E005", "there is no `raise`", 'write `throw "message"`', "throw"),
    "except": Hint("E005", "there is no `except`", "write `catch as err:`", "catch"),
    "elseif": Hint("E005", "there is no `elseif`", "write `elif condition:`", "elif"),
    "elsif": Hint("E005", "there is no `elsif`", "write `elif condition:`", "elif"),
    "pass": Hint("E005", "there is no `pass`", "leave the body out, or say with `output` or a session what happens"),
    "program": Hint("E052", "`program` is of another format", "a file is one program; write its statements at the top"),
    "requires": Hint("E052", "`requires` is of a later format", 'write `input name: "what it is"`'),
    "ensures": Hint("E052", "`ensures` is of a later format", "write `output name = value`"),
    "strategies": Hint("E052", "`strategies` is of a later format", "write the strategy as statements"),
}
"""First words of statements that are none here."""

FUNCTIONS = frozenset({"def", "function", "func", "fn", "skill"})
"""Those of them that, with a name behind them, are most likely a block."""

VALUES = {
    **{word: STATEMENTS[word] for word in ("gate", "approve", "exec", "shell", "ask", "foreach")},
    **{word: STATEMENTS[word] for word in ("await", "async", "spawn", "call", "run", "invoke")},
    "input": Hint(
        "E005", "`input` is no value", 'declare `input name: "the question"` at the top level, then use `name`'
    ),
}
"""Words that others write before a text, a name or a bracket to get a value."""

AFTER_VALUES = frozenset({t.NAME, t.STRING, t.TRIPLE, t.OPEN_STRING, t.OPEN_TRIPLE, t.QUOTED, t.DISCRETION, "("})
BEFORE_VALUES = frozenset(
    {t.NEWLINE, "=", "(", "[", "{", ",", ":", "->", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"}
    | {"output", "return", "if", "elif", "until", "while", "in", "and", "or", "not", "is", "assert", "repeat"}
)
"""What stands before a value, so that such a word is one rather than a name."""

AFTER_STATEMENTS = {
    "+": 'a session takes one text: put values into it, `"... {name}"`; a result to join is named with `let` before',
    "as": "to name a result, write `let name = ...`",
    "context": "write `context: ...` as a property: on a line of its own, indented",
    "prompt": "write `prompt: ...` as a property: on a line of its own, indented",
    "model": "write `model: ...` as a property: on a line of its own, indented",
    "retry": "write `retry: ...` as a property: on a line of its own, indented",
    "backoff": "write `backoff: ...` as a property: on a line of its own, indented",
    "with": "write `context: ...` as a property: on a line of its own, indented",
    "if": "a condition stands before what it decides: `if condition:` with this statement below, indented",
    "unless": "write `if not condition:` with this statement below, indented",
    "else": "there are no `if ... else` values; write `if condition:` and `else:` with an assignment in each",
    "for": "write `for item in items:` with this statement below, indented",
    "then": "put the next statement on a line of its own",
    "and": "put the next statement on a line of its own",
    "=": "to compare, write `==`; to assign, write `name = value` on a line of its own",
    "->": '`->` stands between sessions only: `session "..." -> session "..."`',
    "|": "give the value a name with `let`, or put it in brackets, before `|`",
    ",": "put the next one on a line of its own, or bracket a list: `[a, b]`",
    "(": "brackets follow the names of blocks (`do name(...)`) and imported programs (`name(input: value)`) only",
    ":": "remove the colon: this statement has no body",
    "{": "bodies and properties stand on lines of their own below, indented, without braces",
}


_WHAT = {
    t.NAME: "",
    t.NUMBER: "",
    t.STRING: "string",
    t.OPEN_STRING: "string",
    t.TRIPLE: "string",
    t.OPEN_TRIPLE: "string",
    t.DISCRETION: "`**...**`",
    t.OPEN_DISCRETION: "`**`",
}


def shown(kind: str, text: str) -> str:
    """A token as messages show it."""
    what = _WHAT.get(kind, "")
    if what:
        return what
    return f"`{text if len(text) <= 40 else text[:37] + '...'}`"


_TYPOGRAPHIC = {"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2018": "'", "\u2019": "'", "\u2013": "-", "\u2014": "-"}


def odd_character(text: str, span: Span) -> Diagnostic:
    """The diagnostic for a character that begins no token."""
    point = f"U+{ord(text):04X}"
    if text in _TYPOGRAPHIC:
        plain = _TYPOGRAPHIC[text]
        fix = Fix(f"write {plain}", (Edit(span, plain),), safe=plain == "-")
        return Diagnostic("E004", f"unexpected `{text}` ({point})", span, help=f"write the plain {plain}", fix=fix)
    if text == "\r":
        fix = Fix("end the line by a line feed", (Edit(span, "\n"),))
        return Diagnostic(
            "E004", "a carriage return without a line feed", span, help="end lines by LF or CRLF", fix=fix
        )
    if text.isspace():
        fix = Fix("write a plain space", (Edit(span, " "),), safe=True)
        return Diagnostic("E004", f"an unusual space ({point})", span, help="write a plain space", fix=fix)
    if unicodedata.category(text).startswith("C"):
        fix = Fix("remove it", (Edit(span, ""),), safe=True)
        return Diagnostic("E004", f"an invisible character ({point})", span, help="remove it", fix=fix)
    if text == "\\":
        return Diagnostic("E004", "unexpected `\\`", span, help="a statement needs no mark to go on inside brackets")
    if text == "$":
        return Diagnostic("E004", "unexpected `$`", span, help="write a variable as its plain name")
    if text == "`":
        return Diagnostic("E004", "unexpected backtick", span, help="strings are written in double quotes")
    return Diagnostic("E004", f"unexpected `{text}`", span, help="other characters may stand in strings and comments")


def near(word: str, known: Iterable[str]) -> str | None:
    """The known word that was most likely meant."""
    if len(word) > 40:
        return None
    candidates = list(known)
    found = difflib.get_close_matches(word, candidates, 1, 0.75) or difflib.get_close_matches(
        word.lower(), candidates, 1, 0.75
    )
    return found[0] if found and len(word) > 1 else None
