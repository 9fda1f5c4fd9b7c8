"""What a training script imports. TensorFlow comes when it is needed, after the plan is loaded.

from planner_app.train import load_plan

plan = load_plan("resnet.plan.json")  # before TensorFlow: sets how it takes memory
with plan.scope():  # one device, MirroredStrategy or MultiWorkerMirroredStrategy, and the precision
    model = build()
    model.compile(optimizer=plan.optimizer("adam", learning_rate=1e-3), loss=..., **plan.compile_options())
plan.check(model)  # same model, this GPU, enough free memory: a sentence if not, before minutes are lost
plan.fit(model, dataset, epochs=3, callbacks=[plan.watch()])
"""

from planner_app.errors import PlanError
from planner_app.train.feasibility import fits
from planner_app.train.fitting import fitting, plan_for
from planner_app.train.notes import PlanWarning
from planner_app.train.plan import TrainingPlan, load_plan
from planner_app.train.recover.supervise import supervise

__all__ = [
    "PlanError",
    "PlanWarning",
    "TrainingPlan",
    "fits",
    "fitting",
    "load_plan",
    "plan_for",
    "supervise",
]
