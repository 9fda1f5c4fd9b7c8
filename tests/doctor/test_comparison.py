"""A log beside an estimate: which limit counts."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import pytest

from planner_app.core.doctor import Diagnosis, Kind
from planner_app.core.doctor.comparison import compare
from planner_app.planner.diagnose import beside_model

GIB = 1 << 30


@dataclass(frozen=True)
class Need:
    """A model that takes 1 GiB a sample, on a device that leaves 13 GiB."""

    limit_bytes: int | None = None
    device: ClassVar = SimpleNamespace(name="NVIDIA Tesla T4")

    @property
    def capacity_bytes(self) -> int:
        return 13 * GIB if self.limit_bytes is None else min(13 * GIB, self.limit_bytes)

    def largest(self, *, sure: bool) -> SimpleNamespace:
        return SimpleNamespace(batch=self.capacity_bytes // GIB)


@pytest.mark.parametrize(("told", "limit", "largest"), [(5 * GIB, 5, 5), (None, 13, 13)])
def test_that_the_device_counts_where_the_log_tells_no_limit(told, limit, largest):
    compared = compare(Diagnosis(Kind.SHORTAGE, "It ran out of memory.", limit_bytes=told), Need(), None)
    assert (compared.limit_bytes, compared.limit_in_log) == (limit * GIB, told is not None)
    assert compared.largest_batch == largest


def test_that_the_diagnosis_stands_where_no_device_is_known():
    compared = beside_model(
        Diagnosis(Kind.SHORTAGE, "It ran out of memory.", batch=8),
        planner=None,
        description=SimpleNamespace(layers=()),
        setup=SimpleNamespace(jit=None),
    )
    assert compared.said == ("The log does not tell on which GPU it was written: name it, as in --device 'NVIDIA L4'.",)
    assert compared.agrees is None
