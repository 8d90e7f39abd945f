"""Imports: the form of what `use` and the older `import` name, and that each is named once."""

from __future__ import annotations

import re
from collections.abc import Iterable

from prosec.analysis.checks.walk import Checks, Place, Rule, rule
from prosec.diagnostics import Edit, Fix, Related
from prosec.source import Span
from prosec.syntax import nodes

_PART = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?"
_REGISTRY = re.compile(rf"@?{_PART}/{_PART}")
_SECURE = re.compile(r"https://[^\s/?#]+[^\s]*")
_LOOPBACK = re.compile(r"http://(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?(?:/[^\s]*)?")
_FILE = re.compile(r"(?!/)(?![A-Za-z][A-Za-z0-9+.-]*:)[^\\\x00-\x1f]+\.prose")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SKILL_ORIGINS = ("github:", "npm:", "./", "../", "/")
_FORMS = 'use "handle/slug", "https://...", or "dir/file.prose"'


class UseChecks(Checks):
    """E010, E011, E012, W006."""

    def rules(self) -> Iterable[Rule]:
        self.paths: dict[str, Span] = {}
        self.names: dict[str, Span] = {}
        self.skills: dict[str, Span] = {}
        return (rule(nodes.Use, self.use), rule(nodes.ImportSkill, self.skill))

    def use(self, use: nodes.Use, place: Place) -> None:
        path = use.path.plain
        span = use.path.span
        report = self.findings.report
        if not path.strip():
            report("E011", "this import names nothing", span, help=_FORMS)
            return
        if len(use.path.parts) != 1 or not isinstance(use.path.parts[0], str):
            report(
                "E012",
                "an import is resolved before the program runs and can't hold a value",
                span,
                help="write the address out",
            )
            return
        if not _valid(path):
            report("E012", f"'{path}' is not the address of a program", span, help=_advice(path))
            return
        name = use.alias.text if use.alias is not None else slug(path)
        if use.alias is None and not _NAME.fullmatch(name):
            report(
                "E012",
                f"the last part of this address, '{name}', can't be a name",
                span,
                help="give it one: use ... as name",
            )
            return
        first = self.paths.setdefault(path.removeprefix("@"), span)
        if first is not span:
            report(
                "E010",
                "this program is imported twice",
                span,
                help="remove one of the two; it can be called any number of times",
                related=(Related("first imported here", first),),
                fix=Fix("remove this import", (Edit(use.span, ""),)),
            )
            return
        named = use.alias.span if use.alias is not None else span
        first = self.names.setdefault(name, named)
        if first is not named:
            report(
                "E010",
                f"two imports are called '{name}'",
                named,
                help="give one of them another name: use ... as name",
                related=(Related("the first one", first),),
            )

    def skill(self, statement: nodes.ImportSkill, place: Place) -> None:
        report = self.findings.report
        name, origin = statement.skill.plain, statement.origin.plain
        if not name.strip():
            report("E011", "this import names no skill", statement.skill.span)
        else:
            first = self.skills.setdefault(name, statement.skill.span)
            if first is not statement.skill.span:
                report(
                    "E010",
                    f"skill '{name}' is imported twice",
                    statement.skill.span,
                    help="remove one of the two",
                    related=(Related("first imported here", first),),
                )
        if not origin.strip():
            report("E011", "this import says nowhere to find the skill", statement.origin.span)
        elif not origin.startswith(_SKILL_ORIGINS):
            report(
                "W006",
                f"'{origin}' is no known kind of source",
                statement.origin.span,
                help="a source begins with github:, npm: or ./",
            )


def slug(path: str) -> str:
    """The name that an import has without `as`: the last part of its address."""
    last = re.split(r"[?#]", path, maxsplit=1)[0].rstrip("/").rsplit("/", 1)[-1]
    return last.removesuffix(".prose")


def _valid(path: str) -> bool:
    return any(form.fullmatch(path) for form in (_REGISTRY, _SECURE, _LOOPBACK, _FILE))


def _advice(path: str) -> str:
    if path.startswith("http://"):
        return "use https; plain http is for this machine only"
    if "\\" in path:
        return "separate folders by /, on every system"
    if path.startswith("/"):
        return "write the file's path from where this program is"
    if path.startswith(("./", "../")):
        return "a file's name ends in .prose"
    return _FORMS
