"""What importing a script costs: nothing heavy is loaded before a run begins."""

from __future__ import annotations

import subprocess
import sys


def test_a_script_loads_nothing_heavy() -> None:
    code = (
        "import sys, prose_runtime\n"
        "heavy = {'asyncio', 'anthropic', 'rich', 'hashlib', 'prose_runtime.execution', 'prose_runtime.events'}\n"
        "print(sorted(heavy & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names() -> None:
    import prose_runtime

    assert sorted(prose_runtime.__all__) == [
        "Agent", "Fields", "Permissions", "Program", "ProseError", "Retry", "Run", "Step", "Value",
    ]  # fmt: skip
