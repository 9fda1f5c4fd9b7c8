"""A plan for Keras on JAX, and the script made from it, run on simulated devices."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest

from planner_app.core.model.setup import Backend, Setup
from planner_app.core.plan.ladder import PlanRequest
from planner_app.core.plan.script import script_of
from planner_app.core.sharding.layout import Layout, LayoutName
from planner_app.core.sharding.mesh import Mesh
from planner_app.errors import PlanError
from planner_app.files.devices.catalogue import find_device
from planner_app.files.kept.traces import TraceCache
from planner_app.files.plans import parse_plan, plan_text, schema_text, write_plan
from planner_app.planner.lines import Ask
from planner_app.planner.opening import check_model
from planner_app.planner.planner import Planner
from planner_app.train.environment import apply_environment
from planner_app.train.plan import TrainingPlan

HERE = Path(__file__).parent
TOLD = """
held = {}
for variable in (*model.variables, *model.optimizer.variables, *model.metrics_variables):
    for shard in variable.value.addressable_shards:
        held[str(shard.device)] = held.get(str(shard.device), 0) + shard.data.nbytes
import json
print(json.dumps({"held": sorted(held.values()), "steps": int(model.optimizer.iterations)}))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    (folder / "sharded_models.py").write_text((HERE / "sharded_models.py").read_text())
    model = f"{folder / 'sharded_models.py'}:transformer"
    planner = Planner(check_model(model), file=model, ask=Ask.NEVER, cache=TraceCache(folder / "cache"))
    setup = Setup(batch=16, backend=Backend.JAX, mesh=Mesh(2, 2), layout=Layout(LayoutName.AUTO))
    devices = (find_device("NVIDIA L4"), find_device("cpu"))
    return folder, planner.plan(PlanRequest(setup, devices))


def test_that_a_plan_carries_backend_mesh_and_rules(made):
    _, plan = made
    entry = plan.devices[0]
    assert entry.environment["KERAS_BACKEND"] == "jax"
    assert 0.75 < float(entry.environment["XLA_PYTHON_CLIENT_MEM_FRACTION"]) < 1
    assert (entry.gpus, entry.sharding.mesh, entry.rungs[0].per_gpu_batch) == (4, Mesh(2, 2), 8)
    assert entry.sharding.rules["tokens/embeddings"] == ("model", None)
    jsonschema.Draft202012Validator(json.loads(schema_text())).validate(json.loads(plan_text(plan)))
    assert parse_plan(plan_text(plan).encode()) == plan
    setup = plan.setup(entry, entry.rungs[0])
    assert (setup.backend, setup.mesh, setup.layout.rules != ()) == (Backend.JAX, Mesh(2, 2), True)


def test_that_a_plan_for_jax_does_not_run_on_another_backend(made, monkeypatch):
    _, plan = made
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    with pytest.raises(PlanError, match="the plan is for JAX"):
        apply_environment(plan.devices[0].environment)


def test_that_watching_tensorflows_allocator_is_refused_on_jax(made):
    _, plan = made
    with pytest.raises(PlanError, match="this plan is for Keras on JAX: leave it out"):
        TrainingPlan(plan, plan.devices[0]).watch()


def test_that_the_script_trains_on_the_mesh_as_planned(made):
    folder, plan = made
    write_plan(folder / "it.plan.json", plan)
    (folder / "train.py").write_text(script_of(plan, "it.plan.json") + TOLD)
    environment = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    environment |= {
        "JAX_PLATFORMS": "cpu",
        "CUDA_VISIBLE_DEVICES": "-1",
        "PLIMSOLL_DEVICE": "cpu",
    }
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.strip().splitlines()[-1])
    assert len(told["held"]) == 4 and len(set(told["held"])) == 1
    assert told["steps"] == 12  # three epochs of four batches
    assert (folder / "it.trained.keras").exists()


def test_that_a_plan_for_several_hosts_is_for_tensorflow(made):
    _, plan = made
    with pytest.raises(PlanError, match="one machine's GPUs"):
        PlanRequest(plan.setup(plan.devices[0], plan.devices[0].rungs[0]), (find_device("cpu"),), hosts=("a:1", "b:1"))


def test_that_a_layout_whose_variables_have_other_names_is_refused(made):
    from planner_app.train.sharded import check_layout

    _, plan = made
    planned = plan.devices[0].sharding
    variables = [SimpleNamespace(path=pattern.replace(r"\d+", "7")) for pattern in planned.rules]
    check_layout(planned, SimpleNamespace(built=True, variables=variables))
    with pytest.raises(PlanError, match="other names than in the plan"):
        check_layout(planned, SimpleNamespace(built=True, variables=variables[1:]))
