"""GPUs in rows and columns: the batch is shared out over the rows (data), weights over the columns (model).

parse_mesh("2x4")    # Mesh(data=2, model=4): eight GPUs
meshes(4)            # 4x1, 2x2, 1x4
"""

import re
from dataclasses import dataclass
from math import gcd

from planner_app.errors import SetupError

BATCH, MODEL = "batch", "model"  # the names of the two axes, as KerasHub's layout maps have them
MOST_GPUS = 4096


@dataclass(frozen=True, slots=True)
class Mesh:
    """Attributes:
    data: Shares that a batch is cut into.
    model: Shares that the dimensions on the model axis are cut into.
    """

    data: int = 1
    model: int = 1

    @property
    def gpus(self) -> int:
        return self.data * self.model

    def size(self, axis: str | None) -> int:
        """Shares of a dimension that lies on this axis; 1 on none."""
        return {BATCH: self.data, MODEL: self.model}.get(axis or "", 1)

    def over(self, gpus: int) -> "Mesh":
        """The mesh that is most like this one on another number of GPUs: weights are cut into as many shares as go."""
        model = gcd(self.model, gpus)
        return self if gpus == self.gpus else Mesh(gpus // model, model)

    def __str__(self) -> str:
        return f"{self.data}x{self.model}"


ONE_GPU = Mesh()


def parse_mesh(text: str) -> Mesh:
    """`4` (data-parallel), or data and model: `2x4`."""
    found = re.fullmatch(r"\s*(\d{1,4})(?:\s*[x×,]\s*(\d{1,4}))?\s*", text)  # noqa: RUF001
    mesh = Mesh(int(found[1]), int(found[2] or 1)) if found else Mesh(0)
    if mesh.gpus < 1 or mesh.gpus > MOST_GPUS:
        raise SetupError(
            f'"{text}" is not a mesh: expected the shares of the batch and of the model, as in 2x4 for eight GPUs.'
        )
    return mesh


def meshes(gpus: int) -> tuple[Mesh, ...]:
    """Every way to arrange so many GPUs, purely data-parallel first."""
    return tuple(Mesh(gpus // model, model) for model in range(1, gpus + 1) if gpus % model == 0)
