"""What runs cost: prices, usage per step in the journal, and the table at the end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from prose_runtime.costs import Costs, dollars, table
from prose_runtime.errors import UsageError
from prose_runtime.models import Models
from prose_runtime.prices import DATE, PRICES, Prices
from prose_runtime.providers.protocol import Usage

# Prices


def priced(model: str, *counts: int, own: tuple[str, ...] = ()) -> float | None:
    prices = Prices.given(own, Models())
    return prices.priced(Usage(*counts), model, model).usd


def test_every_alias_has_a_price_and_the_table_a_date() -> None:
    assert all(Prices().of(model) is not None for model in Models().ids.values())
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", DATE)


def test_each_kind_of_token_has_its_price() -> None:
    million = 1_000_000
    price = PRICES["claude-sonnet-5-5"]
    assert priced("claude-sonnet-5-5", million) == price.input
    assert priced("claude-sonnet-5-5", 0, million) == price.output
    assert priced("claude-sonnet-5-5", 0, 0, million) == price.cache_write
    assert priced("claude-sonnet-5-5", 0, 0, 0, million) == price.cache_read
    assert priced("claude-opus-5-5", 1000, 200) == pytest.approx(0.008)


def test_a_model_with_a_date_costs_what_it_costs_without() -> None:
    assert priced("claude-haiku-4-5-20251001", 1000) == priced("claude-haiku-4-5", 1000)
    assert priced("claude-haiku-4-6", 1000) is None


def test_a_long_prompt_has_a_price_of_its_own_where_there_is_one() -> None:
    model = "claude-haiku-5-5"
    assert priced(model, 100_000, 1000) == pytest.approx(0.0105)
    # What was cached counts for the length, and the dearer price is that of every token.
    assert priced(model, 50_000, 1000, 0, 50_001) == pytest.approx(0.03000005)
    assert priced("claude-sonnet-5-5", 200_000) == pytest.approx(0.4)


def test_prices_given_go_before_the_table() -> None:
    assert priced("claude-new", 1000, 100, own=("claude-new=3/15",)) == pytest.approx(0.0045)
    assert priced("claude-new", 0, 0, 1000, 1000, own=("claude-new=3/15",)) == pytest.approx(
        0.00405
    )
    assert priced("claude-sonnet-5-5", 1000, own=("sonnet=1/2",)) == pytest.approx(0.001)
    full = ("claude-new=3/15/4/0.5",)
    assert priced("claude-new", 0, 0, 1000, 1000, own=full) == pytest.approx(0.0045)


@pytest.mark.parametrize(
    "wrong", ["sonnet", "sonnet=1", "sonnet=1/2/3", "sonnet=a/b", "=1/2", "x=-1/2"]
)
def test_a_price_of_another_form_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match="MODEL=IN/OUT"):
        Prices.given([wrong], Models())


def test_the_model_that_answered_has_a_price_where_the_one_asked_for_has_none() -> None:
    usage = Prices().priced(Usage(1000), "my-gateway", "claude-opus-5-5")
    assert usage.usd == pytest.approx(0.004)


# The table

RECORDS: list[dict[str, Any]] = [
    {"r": "run", "run": "x"},
    {"r": "ask", "id": "1", "kind": "session"},
    {"r": "result", "id": "1", "kind": "session", "model": "claude-sonnet-5-5",
     "usage": [12_000, 3_000, 100, 2_000], "usd": 0.05445},
    {"r": "spent", "id": "2", "kind": "resume", "model": "claude-sonnet-5-5", "usage": [500, 0, 0, 0],
     "usd": 0.001},
    {"r": "failed", "id": "2", "kind": "resume"},
    {"r": "cancelled", "id": "3", "kind": "session"},
    {"r": "result", "id": "4", "kind": "until", "model": "claude-haiku-5-5", "usage": [800, 20, 0, 0],
     "usd": 0.00009},
    {"r": "result", "id": "5", "kind": "repair", "model": "claude-haiku-5-5", "usage": [90, 9, 0, 0],
     "usd": 0.0000135},
    {"r": "end", "status": "completed"},
]  # fmt: skip


def test_the_table_of_a_journal() -> None:
    assert table(RECORDS).splitlines() == [
        "          model              calls   input  output  cache write  cache read     USD",
        "session   claude-sonnet-5-5      2  12,500   3,000          100       2,000  0.0554",
        "decision  claude-haiku-5-5       1     800      20            0           0  0.0001",
        "repair    claude-haiku-5-5       1      90       9            0           0  0.0000",
        "total                            4  13,390   3,029          100       2,000  0.0556",
    ]
    costs = Costs.of(RECORDS)
    assert (costs.sessions, costs.decisions, costs.unpriced) == (3, 1, [])


def test_a_table_of_one_kind_needs_no_total() -> None:
    assert len(table(RECORDS[:3]).splitlines()) == 2


def test_what_has_no_price_is_said() -> None:
    unknown = {"r": "result", "kind": "session", "model": "claude-new", "usage": [10, 5, 0, 0]}
    costs = Costs.of([*RECORDS, unknown])
    rows = costs.table().splitlines()
    assert rows[1].split() == ["session", "claude-new", "1", "10", "5", "0", "0", "?"]
    assert rows[-2].endswith("0.0556 + ?")
    assert rows[-1] == ("no price is known for claude-new: give it with --model-price MODEL=IN/OUT")
    assert (costs.usage.usd, costs.usage.total) == (None, 18_534)


def test_nothing_spent_needs_no_table() -> None:
    free = {
        "r": "result",
        "kind": "session",
        "model": "claude-sonnet-5-5",
        "usage": [0, 0, 0, 0],
        "usd": 0.0,
    }
    assert table([free, free]) == table([]) == ""


def test_a_model_name_can_not_steer_the_terminal() -> None:
    evil = {
        "r": "result",
        "kind": "session",
        "model": "x\x1b[2J\ny",
        "usage": [1, 1, 0, 0],
        "usd": 1.0,
    }
    assert "\x1b" not in table([evil]) and len(table([evil]).splitlines()) == 2


def test_dollars() -> None:
    assert [dollars(usd) for usd in (0.0, 0.12345, 99.5, 1234.5, None)] == [
        "0.0000", "0.1235", "99.5000", "1,234.50", "?",
    ]  # fmt: skip


def test_the_help_of_a_script_names_the_limits_and_the_date_of_the_prices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from prose_runtime.program import Program

    program = Program("test.prose")
    with pytest.raises(SystemExit):
        program.cli(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    for words in ("--max-sessions N", "--max-tokens N", "--max-usd USD", "--timeout TIME", DATE):
        assert words in said
    assert "calls under way may pass it" in said and "what runs then is finished" in said
    assert "in-context suits" not in said
    program.source("", traits="in-context")
    with pytest.raises(SystemExit):
        program.cli(["--help"])
    assert "in-context suits this program" in " ".join(capsys.readouterr().out.split())


def test_usage_of_another_form_says_nothing() -> None:
    assert Costs.of([{"r": "result", "kind": "session", "usage": "a lot"}]).usage == Usage()
