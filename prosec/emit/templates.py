"""The templates: one for each construct's shape, in the folder `templates`."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


class Templates:
    """Renders templates by the name of the construct."""

    def __init__(self) -> None:
        self.environment = _environment()

    def render(self, construct: str, **values: object) -> str:
        """The Python text of a construct, without a line break at its end."""
        return self.environment.get_template(f"{construct}.py.j2").render(values).rstrip("\n")


def folder() -> Path:
    """Where the templates are: inside the package when it is installed, beside it in a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent / "templates"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(folder()),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        auto_reload=False,
    )
