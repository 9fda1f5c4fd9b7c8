"""What of rebuilding a model is said differently to each of Keras' backends. The worker is started with one of them."""

from __future__ import annotations

import keras

if keras.backend.backend() == "jax":
    from planner_app.worker.jax.abstract import FAILURES, output_shapes, spec
    from planner_app.worker.jax.valueless import without_values
else:
    from planner_app.worker.build.abstract import FAILURES, output_shapes, spec
    from planner_app.worker.build.valueless import without_values

__all__ = ["FAILURES", "output_shapes", "spec", "without_values"]
