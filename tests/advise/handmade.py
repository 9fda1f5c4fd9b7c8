"""Training steps of one layer, a few operations each, for every setup that the adviser may ask for.

state:     what stays, whatever the batch
weights:   a variable, its gradient, and two slots of the optimizer for each
sample:    an activation for each sample, kept for the backward pass; `inside` a second one that rematerialising spares
"""

from collections.abc import Callable
from dataclasses import dataclass

from planner_app.core.advise import Advice, AdviceRequest, advise
from planner_app.core.estimate.need import Needs
from planner_app.core.hardware.device import Device, custom_device
from planner_app.core.model.setup import Jit, Precision, Setup, StepSetup
from planner_app.core.model.trace import Constant, Operation, Phase, Role, Size, Source, StepTrace, Value, Variable
from planner_app.core.replay.memory import Memory

MIB = 1 << 20
LIMIT = 80 * MIB
CARD = custom_device("card", 1 << 30, (8, 0))
HALVED = (Precision.MIXED_BFLOAT16, Precision.MIXED_FLOAT16)


def want(
    batch: int, *, device: Device = CARD, limit: int | None = LIMIT, devices: tuple[Device, ...] = (), **setup
) -> AdviceRequest:
    setup.setdefault("jit", Jit.OFF)
    return AdviceRequest(Setup(batch=batch, **setup), device, limit, devices, (("image", (96, 96, 3)),))


@dataclass
class Models:
    state_mib: int = 0
    weights_mib: int = 4
    sample_mib: int = 2
    inside_mib: int = 0
    embedding: bool = False
    impossible: Callable[[StepSetup], bool] = lambda step: step.xla  # a compiler would see through these steps

    def __post_init__(self) -> None:
        self._memories: dict[StepSetup, Memory] = {}

    def memory(self, step: StepSetup) -> Memory:
        if step not in self._memories:
            self._memories[step] = Memory(self._trace(step), step)
        return self._memories[step]

    def advice(self, wanted: AdviceRequest) -> Advice:
        memories: dict[StepSetup, Memory] = {}
        impossible: dict[StepSetup, str] = {}
        for _ in range(20):
            advice = advise(wanted, Needs(memories), impossible)
            if not advice.missing:
                return advice
            for step in advice.missing:
                if self.impossible(step):
                    impossible[step] = "it can't be traced"
                else:
                    memories[step] = self.memory(step)
        raise AssertionError("The adviser never has enough.")

    def _trace(self, step: StepSetup) -> StepTrace:
        """The forward pass makes what is kept, the backward pass reads it, the update takes the gradient."""
        share = 2 if step.precision in HALVED else 1
        if step.sizes:
            share *= 4
        sample, inside = self.sample_mib * MIB // share, self.inside_mib * MIB // share
        weights = self.weights_mib * MIB
        slots = {"sgd": 1 if step.optimizer.options else 0}.get(step.optimizer.name, 2) + step.accumulates
        sizes = [Size(), Size(0, sample), Size(0, inside), Size(weights), Size(self.state_mib * MIB)]
        layer = "words" if self.embedding else "layer"
        variables = [Variable("kernel", 3, Role.WEIGHT, layer)]
        variables += [Variable(f"slot {n}", 3, Role.OPTIMIZER, layer) for n in range(slots)]
        kept_inside = bool(inside) and not step.remat
        values = [Value(1), Value(2), Value(3)]
        forward = (0, 1) if kept_inside else (0,)
        operations = (
            Operation(0, makes=forward, then=(1,)),
            Operation(1, reads=forward, makes=(2,), then=(2,), waits=1),
            Operation(2, reads=(2,), waits=1),
        )
        sources = (
            Source("model/layer/Forward", "Mul", layer, Phase.FORWARD),
            Source("gradient_tape/model/layer/Backward", "Mul", layer, Phase.BACKWARD),
            Source("adam/Update", "Mul", layer, Phase.UPDATE),
        )
        return StepTrace(
            sources=sources,
            operations=operations,
            values=tuple(values),
            sizes=tuple(sizes),
            variables=tuple(variables),
            constants=(Constant(4),) if self.state_mib else (),
            layers=((layer, "Embedding" if self.embedding else "Dense"),),
            xla=step.xla,
        )
