"""The JSON of one call on its way through the boundary: printed, never typed.

python3 tests/show_json.py s01          a call of bash: the block, and its answer
python3 tests/show_json.py s02          a good call, from the request to the trace
python3 tests/show_json.py s02 refused  the same for one that may not run
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # run as a file: the chapters are found from the root

from s01_agent_loop import code as s01  # noqa: E402
from s02_tool_dispatch import code as s02  # noqa: E402

VARIES = ("started", "seconds")  # another number at every run


def plain(value: Any) -> Any:
    """A value of the chapter as JSON, without what varies from run to run."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif hasattr(value, "__dict__"):
        value = vars(value)
    if not isinstance(value, dict):
        return value
    fields = {k: "..." if k in VARIES else plain(v) for k, v in value.items()}
    if detail := fields.get("detail"):  # a whole traceback: its last line is enough
        fields["detail"] = "... " + detail.strip().rpartition("\n")[2]
    return fields


def show(title: str, value: object) -> None:
    """One stage: on one line if it fits."""
    text = json.dumps(plain(value))
    text = text if len(text) < 80 else json.dumps(plain(value), indent=2)
    print(f"{title}:\n{text}")


def use(name: str, **arguments: object) -> dict[str, object]:
    """The block in which a model asks for a tool."""
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}


def show_s01(folder: Path) -> None:
    block = use("bash", command="cat plan.txt")
    reply = {"stop_reason": "tool_use", "content": [block]}
    turn = s01.AgentTurn.from_response(reply, set())
    [result] = s01.run_tools(turn.tool_calls, folder)
    show("what the model asks for", block)
    show("what it is answered", result)


def show_s02(folder: Path, refused: bool) -> None:
    records: list[s02.TraceRecord] = []
    registry = s02.build_registry(s02.Workspace(folder), trace=records.append)
    block = use("read_file", path="plan.txt", limit="1" if refused else 1)
    reply = {"stop_reason": "tool_use", "content": [block]}
    [call] = s02.AgentTurn.from_response(reply, set()).tool_calls
    schema: Any = (registry.get("read_file") or {})["input_schema"]
    result = registry.dispatch(call)
    show("tool_use, in the model's reply", block)
    show("ToolCall", call)
    show("problems", s02.compile_schema(schema)(call.arguments))
    show("ToolDispatchResult", result)
    show("tool_result, in the next request", result.to_protocol_block())
    show("TraceRecord", records[0])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "plan.txt").write_text("Friday: ship\nMonday: rest\n")
        if sys.argv[1:2] == ["s01"]:
            show_s01(Path(folder).resolve())
        else:
            show_s02(Path(folder).resolve(), "refused" in sys.argv)


if __name__ == "__main__":
    main()
