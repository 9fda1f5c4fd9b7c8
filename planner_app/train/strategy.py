"""The `tf.distribute` strategy that a plan asks for, made before TensorFlow does anything else."""

import os
from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf
from tensorflow.python.eager import context

from planner_app.core.plan.cluster import parse_tf_config, tf_config
from planner_app.core.plan.plan import DeviceKind
from planner_app.errors import PlanError
from planner_app.train.recover.supervise import shared_seed

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan

MIB = 1 << 20
TF_CONFIG = "TF_CONFIG"
SLURM = ("SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE", "SLURM_PROCID")
TOO_LATE = "TensorFlow has already started, so its devices can't be set up any more: call plan.scope() first."


def make_strategy(plan: "TrainingPlan") -> Any:
    """One device: none, so that Keras may compile the step. Several: mirrored. Several hosts: mirrored over all."""
    _seed(plan)
    local = plan.entry.gpus // plan.hosts
    resolver = _cluster(plan) if plan.hosts > 1 else None
    devices = _cpus(local) if plan.entry.device.kind is DeviceKind.CPU else _gpus(plan, local)
    if resolver is not None:
        if len(devices) > 1 and plan.entry.device.kind is DeviceKind.CPU:
            raise PlanError(f"{plan.entry.gpus} CPU devices on {plan.hosts} hosts: TensorFlow has one on each host.")
        return tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
    return tf.distribute.MirroredStrategy(devices) if len(devices) > 1 else tf.distribute.get_strategy()


def _seed(plan: "TrainingPlan") -> None:
    """Hosts must shuffle alike, and so must a process that is started again. A seed of the script's own counts."""
    seed = plan.run.seed if plan.run is not None else shared_seed(plan.plan) if plan.hosts > 1 else None
    if seed is not None and context.global_seed() is None:
        keras.utils.set_random_seed(seed)


def _cpus(count: int) -> list[str]:
    """The CPU as so many logical devices, and no GPU beside them."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    try:
        tf.config.set_visible_devices([], "GPU")
        if count > 1:
            tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
    except RuntimeError as error:
        if len(tf.config.list_logical_devices("CPU")) < count:
            raise PlanError(TOO_LATE) from error
    return [f"CPU:{n}" for n in range(count)]


def _gpus(plan: "TrainingPlan", count: int) -> list[str]:
    """The first GPUs that the process may see, and no others: a strategy would fill those too."""
    found = tf.config.list_physical_devices("GPU")
    if len(found) < count:
        seen = f"TensorFlow sees {len(found)}" if found else "TensorFlow sees none"
        raise PlanError(
            f"The plan needs {count} {'GPU' if count == 1 else 'GPUs'} on this machine, and {seen}: look at "
            "CUDA_VISIBLE_DEVICES and at what nvidia-smi says, or load the plan on another machine."
        )
    memory = plan.entry.memory
    try:
        tf.config.set_visible_devices(found[:count], "GPU")
        for gpu in found[:count]:
            if memory.growth:
                tf.config.experimental.set_memory_growth(gpu, True)
            if memory.limit_bytes is not None:
                limit = tf.config.LogicalDeviceConfiguration(memory_limit=memory.limit_bytes // MIB)
                tf.config.set_logical_device_configuration(gpu, [limit])
    except RuntimeError as error:
        if memory.growth or memory.limit_bytes is not None or len(found) > count:
            raise PlanError(TOO_LATE) from error
    return [f"GPU:{n}" for n in range(count)]


def _cluster(plan: "TrainingPlan") -> Any:
    """What TF_CONFIG says; else Slurm; else the plan's own hosts, where this one's number is known."""
    resolvers = tf.distribute.cluster_resolver
    if TF_CONFIG not in os.environ and plan.worker is None and all(name in os.environ for name in SLURM):
        return resolvers.SlurmClusterResolver(port_base=int(plan.plan.hosts[0].rpartition(":")[2]))
    if TF_CONFIG not in os.environ:
        if plan.worker is None:
            raise PlanError(
                f"The plan is for {plan.hosts} hosts, and nobody says which of them this is: set TF_CONFIG, or "
                "PLIMSOLL_WORKER, or call load_plan(..., worker=0) on the first, worker=1 on the second and so on."
            )
        os.environ[TF_CONFIG] = tf_config(plan.plan.hosts, plan.worker)
    cluster = parse_tf_config(os.environ[TF_CONFIG])
    if len(cluster.workers) != plan.hosts:
        raise PlanError(f"TF_CONFIG names {len(cluster.workers)} workers, and the plan is for {plan.hosts} hosts.")
    if cluster.index is None:
        raise PlanError("TF_CONFIG does not say which worker this is: expected a task with an index.")
    plan.worker = cluster.index
    return resolvers.TFConfigClusterResolver()
