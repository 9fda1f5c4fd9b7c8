"""Training in shares gives what one batch gives, whatever a loss divides by: weights, optimizer state, metrics."""

from typing import Any

import pytest
from equality import CLOSE, HOSTS, METRICS, difference, finished, on_hosts, started, written
from matrix import BATCH, EPOCHS, HELD_OUT, SAMPLES

CASES = [
    "plain",
    "masked",
    "sample weight",
    "class weight",
    "sum",
    "mean",
    "by weight",
    "none",
    "two outputs",
    "add_loss sum",
    "clipnorm",
    "EMA",
]
ON_HOSTS = ["plain", "masked", "by weight", "two outputs", "add_loss sum", "clipnorm"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Keras, one device in four steps, two devices: all cases in one process."""
    folder = tmp_path_factory.mktemp("matrix")
    return finished(*started(folder, CASES, {"one": written(folder, "one", 1, 4), "two": written(folder, "two", 2, 4)}))


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return on_hosts(tmp_path_factory.mktemp("hosts"), ON_HOSTS)


@pytest.mark.parametrize("way", ["one", "two"])
@pytest.mark.parametrize("case", CASES)
def test_that_shares_of_a_batch_train_as_the_batch_does(trained, case, way):
    found = difference(trained[case]["keras"], trained[case][way])
    assert not found.error
    assert found.state < CLOSE
    assert found.metrics < METRICS
    assert found.updates == 0
    assert "plain" not in case or trained[case]["keras"]["updates"] == EPOCHS * -(
        -int(SAMPLES * (1 - HELD_OUT)) // BATCH
    )


@pytest.mark.parametrize("case", ON_HOSTS)
def test_that_two_hosts_train_as_one_batch_does(trained, hosts, case):
    found = difference(trained[case]["keras"], hosts[case][HOSTS])
    assert not found.error
    assert found.state < CLOSE
    assert found.metrics < METRICS
    assert found.updates == 0
