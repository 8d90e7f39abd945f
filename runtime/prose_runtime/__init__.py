"""What scripts that prosec compiles import: sessions, decisions, concurrency, state and resume."""

from .agents import Agent, Fields, Permissions, Retry
from .errors import ProseError
from .program import Program
from .run import Run
from .steps import Step
from .values import Value

__all__ = ["Agent", "Fields", "Permissions", "Program", "ProseError", "Retry", "Run", "Step", "Value"]
