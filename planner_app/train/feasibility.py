"""Whether a model would fit, for tuners and scripts: no GPU, no run, and no trial that dies."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Unpack

    from planner_app.planner.api.results import Estimate
    from planner_app.planner.api.setups import SetupOptions


def fits(
    model: Any, batch: int, *, device: str = "cpu", limit: str | None = None, **options: "Unpack[SetupOptions]"
) -> "Estimate":
    """The estimate of one way to train: its `fits` counts tight as yes, its `verdict` tells the two apart.

    The same as `planner_app.open_model(model).estimate(...)`. Takes seconds the first time, and no GPU. A tuner asks
    before it trains:

        class Tuner(keras_tuner.RandomSearch):
            def run_trial(self, trial, *args, **kwargs):
                hp = trial.hyperparameters
                model = self.hypermodel.build(hp)
                room = fits(model, hp.get("batch_size"), device="NVIDIA L4")
                if not room.fits:
                    raise keras_tuner.errors.FailedTrialError(f"needs {-room.headroom_bytes} bytes more")
                return super().run_trial(trial, *args, **kwargs)

    Args:
        model: A Keras model, or the path of a saved one.
        batch: Samples per update over all GPUs and accumulation steps.
        device: A GPU as "NVIDIA L4", a size as "24GiB", or "cpu:8GiB".
        limit: The most that TensorFlow may take of each GPU, as "8GiB".
        options: As `SetupOptions` has them: precision, gpus, accumulate, optimizer, jit, loss and more.

    Raises:
        PlannerError: The model, the device or the way to train does not make sense.
    """
    from planner_app.planner.api.handle import open_model

    return open_model(model, progress=False).estimate(batch, device=device, limit=limit, **options)
