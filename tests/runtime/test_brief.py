"""output.md's brief, written by hand as it is emitted, from its first session to its output."""

from __future__ import annotations

from pathlib import Path

from prose_runtime import Agent, Permissions, Program, ProseError, Retry, Run, Value
from scripted import Scripted, failing, play

program = Program("brief.prose")
program.input("market", "Market to cover, for example 'electric bikes'")
program.output("brief")

analyst = Agent(
    "analyst",
    model="sonnet",
    prompt="You are a market analyst. Name the source of every claim.",
    permissions=Permissions(read=["notes/**"], network="allow", bash="deny"),
)

editor = Agent(
    "editor",
    model="opus",
    persist="project",
    prompt=lambda run: f"You edit for a busy executive in the {run['market']} business.",
)


@program.block("profile", max_depth=5)
async def profile(run: Run, company: Value, depth: Value) -> Value:
    """Profile one company, then its parent companies, up to `depth` levels."""
    facts = await run.session(
        f"Profile {company}",
        agent=analyst,
        context=run.so_far,
        retry=Retry(3, backoff="exponential"),
        let="facts",
    )
    if depth > 0 and await run.decide(
        "the facts name a parent company", about={"facts": facts, "company": company}
    ):
        parent = await run.session(
            "Name the parent company, nothing else",
            context={"facts": facts},
            let="parent",
        )
        return await profile(run, parent, depth - 1)
    return facts


@program.main
async def main(run: Run) -> None:
    market = await run.input("market")

    companies = await run.session(
        f"List the five companies to watch in {market}",
        agent=analyst,
        context=run.so_far,
        returns=list,
        let="companies",
    )

    async def profile_of(item: Value) -> Value:
        return await profile(run, item, 2)

    profiles = await run.pmap(companies, profile_of, let="profiles")

    pricing, risks = await run.parallel(
        pricing=run.session(
            "Compare their prices", agent=analyst, context={"profiles": profiles}
        ),
        risks=run.session(
            "What could hurt each of them next year?",
            agent=analyst,
            context={"profiles": profiles},
        ),
        on_fail="continue",
    )

    draft = await run.session(
        "Write a one-page brief",
        agent=editor,
        context={"profiles": profiles, "pricing": pricing, "risks": risks},
        let="draft",
    )

    for round_ in run.rounds(max=3):
        draft = await run.resume(
            f"Tighten the draft (round {round_})",
            agent=editor,
            context={"draft": draft},
            assign="draft",
        )
        if await run.until(
            "the draft fits one page and every claim has a source",
            about={"draft": draft},
        ):
            break

    match await run.choose(
        "who should see the draft first", ["Sales", "Board"], about={"draft": draft}
    ):
        case "Sales":
            await run.session("Rewrite the opening for sales", context={"draft": draft})
        case "Board":
            await run.session(
                "Add a table of figures for the board", context={"draft": draft}
            )

    try:
        await run.session("Publish the brief to the wiki", context={"draft": draft})
    except ProseError as problem:
        await run.session(
            "Tell the author what went wrong", context={"problem": problem}
        )

    run.output("brief", draft)


def test_the_whole_brief(tmp_path: Path) -> None:
    side = Scripted(
        answers={
            "List the five companies to watch in bikes": ["A", "B", "C"],
            "What could hurt each of them next year?": failing("overloaded"),
            "Publish the brief to the wiki": failing("wiki is down"),
        },
        decisions={
            "the facts name a parent company": [True, True, True, False, False, False],
            "the draft fits one page and every claim has a source": [False, True],
            "who should see the draft first": "Board",
        },
    )
    ran = play(program, tmp_path, side, inputs={"market": "bikes"})
    assert ran.outcome.problem is None
    assert ran.outcome.exit_code == 0
    assert ran.outcome.status == "completed"
    assert ran.outcome.outputs["brief"] == "[Tighten the draft (round 1)]"
    assert {"market.md", "companies.md", "profiles.md", "draft.md", "brief.md", "pricing.md", "risks.md"} <= {
        *ran.files
    }
    assert "facts__1.md" in ran.files
    assert "anon_001.md" in ran.files
    tell = next(task for task in side.tasks if task.prompt.startswith("Tell"))
    assert tell.context[0].value["message"] == "wiki is down"
    handled = [i for record in ran.records("handled") for i in record["ids"]]
    assert sorted(handled) == sorted(record["id"] for record in ran.records("failed"))
    assert ran.records("end")[0]["status"] == "completed"
    assert side.closed == 1
    assert "status: completed" in (ran.directory / "state.md").read_text()
    system = next(task.system for task in side.tasks if task.agent is editor)
    assert system == "You edit for a busy executive in the bikes business."
