"""Training in shares gives what one batch gives, whatever a loss divides by: weights, optimizer state, metrics."""

from typing import Any

import pytest
from equality import difference, finished, started, written
from matrix import BATCH, EPOCHS, SAMPLES
from ports import free_ports

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
CLOSE, METRICS = 1e-5, 1e-6
UPDATES = EPOCHS * -(-SAMPLES // BATCH)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Keras, one device in four steps, two devices in two: all cases in one process."""
    folder = tmp_path_factory.mktemp("matrix")
    return finished(*started(folder, CASES, {"one": written(folder, "one", 1, 4), "two": written(folder, "two", 2, 2)}))


@pytest.fixture(scope="module")
def on_hosts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("hosts")
    addresses = tuple(f"127.0.0.1:{port}" for port in free_ports(2))
    plans = {"hosts": written(folder, "hosts", 2, 2, addresses)}
    children = [started(folder, ON_HOSTS, plans, worker) for worker in (0, 1)]
    first, second = (finished(*child) for child in children)
    assert first == second
    return first


@pytest.mark.parametrize("way", ["one", "two"])
@pytest.mark.parametrize("case", CASES)
def test_that_shares_of_a_batch_train_as_the_batch_does(trained, case, way):
    found = difference(trained[case]["keras"], trained[case][way])
    assert not found.error
    assert found.state < CLOSE
    assert found.metrics < METRICS
    assert found.updates == 0
    assert "plain" not in case or trained[case]["keras"]["updates"] == EPOCHS * -(-int(SAMPLES * 0.8) // BATCH)


@pytest.mark.parametrize("case", ON_HOSTS)
def test_that_two_hosts_train_as_one_batch_does(trained, on_hosts, case):
    found = difference(trained[case]["keras"], on_hosts[case]["hosts"])
    assert not found.error
    assert found.state < CLOSE
    assert found.metrics < METRICS
    assert found.updates == 0
