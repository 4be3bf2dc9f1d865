"""Print the Markdown table of ``results/``: faults by frameworks, then the switches.

Run with ``python tests/peers/table.py``; it needs no framework.
"""

import json
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
ORDER = (
    "anthropic_runner",
    "openai_agents",
    "pydantic_ai_tools",
    "langgraph_toolnode",
    "smolagents_tools",
    "mcp_server",
    "strands_tools",
    "adk_tools",
)
ROWS = {
    "same_name": "same name registered twice",
    "unknown_tool": "unknown tool",
    "missing_argument": "missing argument",
    "text_for_integer": '`"3"` for an integer',
    "extra_argument": "extra argument",
    "raising_handler": "raising handler whose text holds a secret",
    "batch_first_raises": "batch whose first call raises",
    "edited_catalogue": "edited catalogue",
}


def load() -> list[dict]:
    """The documents of the frameworks that have a result, in a fixed order."""
    paths = (RESULTS / f"{name}.json" for name in ORDER)
    return [json.loads(path.read_text("utf-8")) for path in paths if path.exists()]


def cell(fault: dict) -> str:
    """The default's outcome, and after an arrow the outcome with the switch on."""
    if fault["switch"] is None:
        return f"`{fault['outcome']}`"
    return f"`{fault['outcome']}` -> `{fault['with_switch']}`"


def row(cells: list[str]) -> str:
    """One line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def table(documents: list[dict]) -> str:
    """The table of outcomes."""
    head = [f"{one['framework']} {one['version']}" for one in documents]
    lines = [row(["fault", *head]), row(["---"] * (len(head) + 1))]
    for key, title in ROWS.items():
        lines.append(row([title, *(cell(one["faults"][key]) for one in documents)]))
    return "\n".join(lines)


def switches(documents: list[dict]) -> str:
    """The list of switches behind the arrows."""
    return "\n".join(
        f"- {one['framework']}, {ROWS[key]}: {fault['switch']}."
        for one in documents
        for key, fault in one["faults"].items()
        if fault["switch"]
    )


if __name__ == "__main__":
    found = load()
    print(table(found), switches(found), sep="\n\n")
