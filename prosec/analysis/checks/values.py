"""Written-out values: texts that are thrown, and objects whose keys meet."""

from __future__ import annotations

from collections.abc import Iterable

from prosec.analysis.checks.walk import Checks, Place, Rule, rule
from prosec.diagnostics import Related
from prosec.syntax import nodes


class ValueChecks(Checks):
    """W019, and E009 for two entries of one object with the same key; the labels of a `context:` may meet."""

    def rules(self) -> Iterable[Rule]:
        self.labels: set[nodes.Node] = set()
        return (
            rule(nodes.Throw, self.throw),
            rule(nodes.Property, self.property),
            rule(nodes.ObjectLiteral, self.entries),
        )

    def property(self, prop: nodes.Property, place: Place) -> None:
        if prop.name.text == "context":
            self.labels.add(prop.value)

    def throw(self, throw: nodes.Throw, place: Place) -> None:
        if isinstance(throw.value, nodes.Text) and not throw.value.plain.strip():
            self.findings.report(
                "W019",
                "this error says nothing",
                throw.value.span,
                help="say what went wrong: it is all that whoever catches it will know",
            )

    def entries(self, value: nodes.ObjectLiteral, place: Place) -> None:
        if value in self.labels:
            return
        first: dict[str, nodes.Entry] = {}
        for entry in value.entries:
            known = first.setdefault(entry.key, entry)
            if known is not entry:
                self.findings.report(
                    "E009",
                    f"two entries are called '{entry.key}'",
                    entry.key_span,
                    help="give one a name of its own: other_name: value"
                    if entry.shorthand
                    else "rename one of the two, or remove it",
                    related=(Related("the first one", known.key_span),),
                )
