"""Plans: read, written again, and made into a training script, in which nothing of a plan may become code."""

import ast

from fuzz_changes import changed_json as mutate

from fuzz_targets.common import READ, Bad, corpus, refused
from planner_app.core.plan.script import script_of
from planner_app.errors import PlanError
from planner_app.files.plans import parse_plan, plan_text

KIND = "plans"
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("plan/*.json")


def run(data: bytes) -> str:
    try:
        plan = parse_plan(data, "p.json")
    except PlanError as error:
        return refused(error)
    if parse_plan(plan_text(plan).encode(), "p.json") != plan:
        raise Bad("a plan that was written again is another one")
    called = {ast.unparse(node.func) for node in ast.walk(ast.parse(script_of(plan))) if isinstance(node, ast.Call)}
    if called & {"eval", "exec", "__import__", "open", "os.system"}:
        raise Bad(f"the script of a plan calls {called}")
    return READ
