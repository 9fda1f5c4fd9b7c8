"""A complete training script for a plan. Whatever comes out of the plan stands in it as a literal, never as code."""

from planner_app.core.model.setup import OWN
from planner_app.core.plan.plan import Entry, Plan, Training
from planner_app.foreign_text import for_comment, for_python
from planner_app.units import format_bytes

OPENING = '''"""Trains {model} as {plan} says: {summary}.

Written by plimsoll script. Put your data into data(); everything else is as the plan wants it.
"""

from planner_app.train import load_plan

plan = load_plan({plan_literal})  # before TensorFlow: it sets how TensorFlow takes memory

import tensorflow as tf  # noqa: E402

EPOCHS = 3
'''

BUILD_SAVED = '''

def build():
    """The model in the plan's precision. Loading runs code of the model's layers: only open files you trust."""
    return plan.load_model({model_literal})
'''

BUILD_CODE = '''

def build():
    """Your model; the plan was made for {model}."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("your_model", {file_literal})
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = getattr(module, {function_literal})()
    return made[0] if isinstance(made, tuple) else made  # with the data it is trained on beside it
'''

REST = '''

def data(model) -> tf.data.Dataset:
    """Single samples, or batches of any size: (inputs, targets). Noise in the right shapes, until yours are here."""
    return plan.synthetic_data(model, samples=4 * plan.global_batch)


with plan.scope():
    model = build(){freeze}
{compile}

plan.check(model)  # another model, another GPU or too little free memory: a sentence, before minutes are lost
history = plan.fit(model, data(model), epochs=EPOCHS, callbacks=[plan.watch({report_literal})])
model.save({trained})
'''


COMPILE = """    model.compile(
        optimizer=plan.optimizer(learning_rate=1e-3),
        loss={loss},
        **plan.compile_options(),
    )"""
COMPILE_OWN = "    plan.keep_compiled(model)  # the optimizer, the loss and the metrics are the model's own"
COMPILE_OWN_OPTIMIZER = """    plan.keep_compiled(model)
    model.compile(optimizer=model.optimizer, loss={loss}, **plan.compile_options())"""


def script_of(plan: Plan, plan_file: str = "plan.json") -> str:
    """The text of the script. `plan_file` is where it will find the plan."""
    stem = plan_file.replace("\\", "/").rpartition("/")[2]
    for ending in (".json", ".plan"):
        stem = stem.removesuffix(ending)
    code = plan.model.format == "python"
    file, _, function = plan.model.file.rpartition(":")
    body = BUILD_CODE if code else BUILD_SAVED
    text = OPENING + body + REST
    return text.format(
        model=for_comment(plan.model.file),
        plan=for_comment(plan_file),
        summary=_summary(plan),
        plan_literal=for_python(plan_file),
        model_literal=for_python(plan.model.file),
        file_literal=for_python(file),
        function_literal=for_python(function),
        freeze="\n    plan.freeze(model)" if code and plan.training.freeze else "",
        compile=_compile(plan.training),
        report_literal=for_python(f"{stem}.run.json"),
        trained=_trained(plan, stem),
    )


def _compile(training: Training) -> str:
    loss = for_python(training.loss) if training.loss else "model.loss"
    if training.optimizer.name != OWN.name:
        return COMPILE.format(loss=loss)
    return COMPILE_OWN_OPTIMIZER.format(loss=loss) if training.loss else COMPILE_OWN


def _trained(plan: Plan, stem: str) -> str:
    """Several hosts all have to save, because saving reads what lies on all of them; the first one's file counts."""
    if not plan.hosts:
        return for_python(f"{stem}.trained.keras")
    return f'{for_python(stem)} + (f".worker{{plan.worker}}" if plan.worker else ".trained") + ".keras"'


def _summary(plan: Plan) -> str:
    return "; ".join(_entry(plan, entry) for entry in plan.devices)


def _entry(plan: Plan, entry: Entry) -> str:
    first = entry.rungs[0]
    gpus = f"{entry.gpus} x " if entry.gpus > 1 else ""
    steps = f", {first.per_gpu_batch} at a time" if first.per_gpu_batch < plan.training.global_batch else ""
    return (
        f"batch {plan.training.global_batch} on {gpus}{for_comment(entry.device.name)}{steps}, {first.precision}, "
        f"{format_bytes(first.peak.expected_bytes)} at the peak"
    )
