"""Answers as plain dictionaries: what `--json` prints and what `to_dict()` returns."""

from collections.abc import Mapping
from typing import Any

import msgspec

from planner_app.core.advise import Advice, Option
from planner_app.core.estimate.estimate import Estimate
from planner_app.core.estimate.largest import Largest
from planner_app.core.estimate.level import Level
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.model.setup import Backend, Setup

Dict = dict[str, Any]


def estimate_dict(result: Estimate, *, sure: bool = False) -> Dict:
    return {
        **_setup(result.setup),
        "optimizer": str(result.setup.optimizer),
        "trained": {"optimizer": result.trained.optimizer, "loss": result.trained.loss},
        "assumed": list(result.trained.assumed),
        "jit": result.xla,
        "device": result.device,
        **level_dict(result.level),
        "comfortable_bytes": result.comfortable_bytes,
        "band": msgspec.to_builtins(result.band),
        "live_bytes": result.live_bytes,
        "temp_bytes": result.temp_bytes,
        "state_bytes": result.state_bytes,
        "device_bytes": result.device_bytes,
        "capacity_bytes": result.capacity_bytes,
        **verdict_dict(result.verdict, sure=sure),
        "breakdown": dict(result.breakdown),
        "peak": {"operation": result.peak_operation, "layer": result.peak_layer, "phase": result.peak_phase},
        "held": msgspec.to_builtins(result.held),
        "layers": msgspec.to_builtins(result.layers),
        "warnings": list(result.warnings),
    }


def on_jax(setup: Setup) -> Dict:
    """What there is to say of Keras on JAX."""
    if setup.backend is not Backend.JAX:
        return {}
    return {"backend": str(setup.backend), "mesh": str(setup.mesh), "layout": str(setup.layout)}


def largest_dict(result: Largest, *, sure: bool = False) -> Dict:
    """`batch` counts tight unless `sure` is set; `sure_batch` never does."""
    counted = result.sure if sure else result.counting_tight
    share = result.share
    return {
        "batch": counted.batch * share,
        "per_gpu_batch": counted.batch,
        "multiple_of_8": counted.multiple_of_8 * share,
        "power_of_2": counted.power_of_2 * share,
        "tight_batch": result.batch,
        "sure_batch": result.sure_batch,
        "bound": counted.bound,
        "limit_bytes": result.capacity_bytes,
        "peak_bytes": result.level.peak_bytes,
        "source": str(result.level.source),
        "device": result.device,
        "gpus": result.setup.gpus,
        **on_jax(result.setup),
        "accumulate": result.setup.accumulate,
        "precision": str(result.setup.precision),
        "optimizer": str(result.setup.optimizer),
        "jit": result.xla,
        "calibrated": result.calibrated or None,
        "warnings": list(result.warnings),
    }


def advice_dict(advice: Advice, *, sure: bool = False) -> Dict:
    return {
        **verdict_dict(advice.verdict, sure=sure),
        "device": advice.request.device.name,
        "batch": advice.request.setup.batch,
        "peak_bytes": advice.before_bytes,
        "limit_bytes": advice.limit_bytes,
        "options": [_option(option) for option in advice.options],
        "helpful": [_option(option) for option in advice.helpful],
        "calibrated": advice.calibrated or None,
        "hints": msgspec.to_builtins(advice.hints),
    }


def _option(option: Option) -> Dict:
    setup = option.setup
    return {
        "changes": [
            {"text": change.text, "code": list(change.code), "caveat": change.caveat, "kind": change.cost.name.lower()}
            for change in option.changes
        ],
        "cost": option.cost,
        "device": option.device.name,
        "setup": msgspec.to_builtins(setup),
        "per_gpu_batch": setup.per_gpu_batch,
        "jit": option.xla,
        "before_bytes": option.before_bytes,
        "after_bytes": option.after_bytes,
        "high_bytes": option.high_bytes,
        "saved_bytes": option.saved_bytes,
        "limit_bytes": option.limit_bytes,
        **verdict_dict(option.verdict),
        "largest_batch": option.largest,
        "slower": option.slower,
        "more_arithmetic": option.more_arithmetic,
        "environment": dict(option.environment),
    }


def verdict_dict(verdict: Verdict | None, *, sure: bool = False) -> Dict:
    """`fits` is for scripts: tight counts as yes unless `sure` is set."""
    return {
        "verdict": None if verdict is None else str(verdict),
        "fits": None if verdict is None else verdict.yes(sure=sure),
    }


def level_dict(level: Level) -> Dict:
    return {
        "peak_bytes": level.peak_bytes,
        "low_bytes": level.low_bytes,
        "high_bytes": level.high_bytes,
        "source": str(level.source),
    }


def _setup(setup: Setup) -> Mapping[str, Any]:
    return {
        "batch": setup.batch,
        "per_gpu_batch": setup.per_gpu_batch,
        "precision": str(setup.precision),
        "gpus": setup.gpus,
        "accumulate": setup.accumulate,
        **on_jax(setup),
    }


def sweep_row(
    setup: Setup, device: str, xla: bool, level: Level, capacity: int | None, verdict: Verdict | None
) -> Dict:
    return {
        "device": device,
        **_setup(setup),
        "jit": xla,
        **level_dict(level),
        "capacity_bytes": capacity,
        **verdict_dict(verdict),
    }
