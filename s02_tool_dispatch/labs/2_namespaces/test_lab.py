"""Lab 2: every test goes through `name_table`, so none passes before you begin."""

import copy

from s02_tool_dispatch.code import ToolCall, ToolSpec, object_schema


def tool(name, ran):
    """A tool that notes that it ran, and says under which name it was made."""

    def handler():
        ran.append(name)
        return f"{name} ran"

    return ToolSpec(name.rpartition(".")[2], "a tool", object_schema({}), handler)


def two_sources(lab, ran, trace=lambda line: None):
    """core: read_file and glob; plugin: read_file."""
    core = [tool("core.read_file", ran), tool("core.glob", ran)]
    plugin = [tool("plugin.read_file", ran)]
    return lab.NamespacedTools({"plugin": plugin, "core": core}, trace)


def table_or_refusal(lab, sources):
    """What name_table gives, or the word that it refused; tuples pass as lists."""
    try:
        table = lab.name_table(sources)
    except ValueError:
        return "ValueError"
    if not isinstance(table, dict):
        return table
    return {k: list(v) if isinstance(v, tuple) else v for k, v in table.items()}


def test_two_tools_of_one_name_stand_side_by_side(lab, expect):
    tools = two_sources(lab, [])

    for name in ("core__read_file", "plugin__read_file"):
        came = tools.dispatch(ToolCall("t1", name, {})).content
        wanted = name.replace("__", ".") + " ran"
        advice = "a qualified name means itself, whatever the short names are"
        expect(f'dispatch("{name}")', came, wanted, advice)


def test_a_short_name_works_while_it_means_one_tool(lab, expect):
    came = two_sources(lab, []).dispatch(ToolCall("t1", "glob", {})).content

    advice = "only core has a glob: put the short name into the table too"
    expect('dispatch("glob")', came, "core.glob ran", advice)


def test_a_short_name_of_two_tools_demands_a_choice_and_runs_none(lab, expect):
    ran = []
    came = two_sources(lab, ran).dispatch(ToolCall("t1", "read_file", {}))

    called = 'dispatch("read_file"), which core and plugin both have'
    advice = "keep every meaning of a short name, not the first or the last"
    expect(called, (came.error_code, ran), (lab.AMBIGUOUS, []), advice)
    wanted = "core__read_file, plugin__read_file"
    advice = "the meanings in sorted order"
    expect(called, came.content, f"... {wanted}", advice, wanted in came.content)


def test_a_name_that_nobody_registered_is_not_guessed(lab, expect):
    ran = []
    tools = two_sources(lab, ran)

    for name in ("Glob", "core.glob", "CORE__glob", "core__", "plugin__glob"):
        came = tools.dispatch(ToolCall("t1", name, {})).error_code
        advice = "only exact names belong in the table"
        expect(f'dispatch("{name}")', (came, ran), ("unknown_tool", []), advice)


def test_names_that_look_alike_are_refused(lab, expect):
    for sources, advice in [
        ({"core": ["read_file", "Read_File"]}, "compare without upper and lower case"),
        ({"core": ["read_file", "read-file"]}, "take - and _ for the same"),
        ({"core": ["read_file"], "plugin": ["Read-File"]}, "compare across namespaces"),
        ({"core": ["read_file"], "Core": ["glob"]}, "compare the namespaces as well"),
        ({"core": ["glob"], "Core": []}, "a namespace without tools is one, too"),
        ({"a_": ["b"], "A": ["_b"]}, "compare the qualified names as well"),
    ]:
        came = table_or_refusal(lab, sources)
        expect(f"name_table({sources})", came, "ValueError", advice)


def test_names_that_merely_remind_of_each_other_are_accepted(lab, expect):
    for sources, advice in [
        ({"core": ["readfile", "read_file"]}, "- and _ are the same, not nothing"),
        ({"Core": ["core"]}, "a namespace and a tool are not mistaken for another"),
        ({"Core": ["Read-File"]}, "a name stays as it was written"),
        ({"core": ["r" * 58]}, "64 characters with the namespace are not too many"),
        ({"a_": ["b"]}, "only `__` itself may not stand in a namespace"),
        ({"core": ["glob"], "none": []}, "a namespace without tools adds nothing"),
    ]:
        (space, (short, *more)), *_ = sources.items()
        wanted = {f"{space}__{name}": [f"{space}__{name}"] for name in (short, *more)}
        wanted |= {name: [f"{space}__{name}"] for name in (short, *more)}
        came = table_or_refusal(lab, sources)
        expect(f"name_table({sources})", came, wanted, advice)


def test_a_name_that_the_api_or_the_table_does_not_accept_is_refused(lab, expect):
    for sources, advice in [
        ({"core": ["read.file"]}, "match the whole qualified name with ACCEPTED"),
        ({"core": ["read_file\n"]}, "use fullmatch: $ lets a line end through"),
        ({"core": ["r" * 59]}, "64 characters with the namespace: 65 are too many"),
        ({"a__b": ["c"]}, "a__b__c could be c of a__b or b__c of a"),
        ({"a": ["b__c"]}, "a__b__c could be c of a__b or b__c of a"),
        ({"a__b": []}, "a namespace without tools is checked, too"),
        ({"a_": ["b"], "a": ["_b"]}, "a___b would be the name of two tools"),
        ({"core": ["glob", "glob"]}, "core__glob would be the name of two tools"),
    ]:
        came = table_or_refusal(lab, sources)
        expect(f"name_table({sources})", came, "ValueError", advice)


def test_the_load_order_decides_nothing(lab, expect):
    sources = {"plugin": ["ls"], "core": ["ls", "glob"], "other": ["ls"]}
    backwards = {"other": ["ls"], "core": ["glob", "ls"], "plugin": ["ls"]}
    wanted = {
        "core__glob": ["core__glob"],
        "core__ls": ["core__ls"],
        "other__ls": ["other__ls"],
        "plugin__ls": ["plugin__ls"],
        "glob": ["core__glob"],
        "ls": ["core__ls", "other__ls", "plugin__ls"],
    }

    for given in (sources, backwards):
        before = copy.deepcopy(given)
        came = table_or_refusal(lab, given)
        called = f"name_table({before})"
        expect(called, came, wanted, "sort what a short name can mean")
        advice = "sort a copy: the lists are the caller's"
        expect(f"the argument after {called}", given, before, advice)


def test_the_trace_says_what_a_name_was_taken_for(lab, expect):
    trace = []
    tools = two_sources(lab, [], trace.append)
    for name in ("glob", "read_file", "nobody"):
        tools.dispatch(ToolCall("t1", name, {}))

    came = [(line.asked, line.meanings) for line in trace if hasattr(line, "asked")]
    wanted = [
        ("glob", ("core__glob",)),
        ("read_file", ("core__read_file", "plugin__read_file")),
        ("nobody", ()),
    ]
    expect("dispatch of three names, then the trace", came, wanted, "see name_table")
    ends = [line.outcome for line in trace if hasattr(line, "outcome")]
    advice = "the chapter's own records come after: only two calls reached its gate"
    expect("the chapter's trace records", ends, ["ok", "unknown_tool"], advice)
