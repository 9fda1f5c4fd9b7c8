import ast
import sys
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from planner_app.core.plan.script import script_of

sys.path.insert(0, str(Path(__file__).parents[1] / "train"))
from planning import cpu_entry, plan

HOSTILE = 'x"); import os; os.system("echo")  # \\" \n""" {0} {model}'
PLAN = plan(8, cpu_entry(8, 1, 1, 2))


def names(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def with_texts(text: str, format_: str):
    model = replace(PLAN.model, file=text, name=text, format=format_)
    entry = replace(PLAN.devices[0], device=replace(PLAN.devices[0].device, name=text))
    return replace(PLAN, model=model, devices=(entry,), training=replace(PLAN.training, loss=text, freeze=(text,)))


def test_that_the_script_loads_the_plan_before_tensorflow():
    text = script_of(PLAN, "some/tiny.plan.json")
    assert text.index('load_plan("some/tiny.plan.json")') < text.index("import tensorflow")
    assert 'plan.watch("tiny.run.json")' in text
    ast.parse(text)


def test_that_nothing_of_a_plan_becomes_code():
    for format_ in ("keras", "python"):
        text = script_of(with_texts(HOSTILE, format_), HOSTILE)
        assert "os" not in names(text)
        assert names(text) <= names(script_of(with_texts("m.py:build", format_)))


def test_that_hosts_do_not_write_over_each_other():
    hosts = plan(8, cpu_entry(8, 2, 1), hosts=("a:1", "b:1"))
    text = script_of(hosts, "tiny.plan.json")
    assert 'model.save("tiny" + (f".worker{plan.worker}" if plan.worker else ".trained") + ".keras")' in text
    ast.parse(text)


def shape(text: str) -> str:
    """The program without its texts and numbers."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = ""
    return ast.dump(tree)


@given(st.text(min_size=1, max_size=60), st.sampled_from(["keras", "python"]))
def test_that_any_text_in_a_plan_gives_the_same_program(text, format_):
    assert shape(script_of(with_texts(text, format_), text)) == shape(script_of(with_texts("A", format_), "A"))
