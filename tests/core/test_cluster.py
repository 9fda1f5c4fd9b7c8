import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner_app.core.plan.cluster import EXAMPLE, Cluster, parse_hosts, parse_tf_config, tf_config
from planner_app.errors import PlanError


def test_that_hosts_come_as_a_list_or_as_tf_config():
    assert parse_hosts("gpu-1:2222, 10.0.0.2:2223,[::1]:2224") == ("gpu-1:2222", "10.0.0.2:2223", "[::1]:2224")
    assert parse_hosts(EXAMPLE) == ("gpu-1:2222", "gpu-2:2222")


def test_that_a_description_for_a_worker_is_read_as_it_was_written():
    hosts = ("a:1", "b:2", "c:3")
    assert [parse_tf_config(tf_config(hosts, n)) for n in range(3)] == [Cluster(hosts, n) for n in range(3)]


def test_that_a_chief_comes_first():
    text = {"cluster": {"chief": ["c:1"], "worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}
    assert parse_tf_config(json.dumps(text)) == Cluster(("c:1", "a:1", "b:1"), 2)
    text["task"] = {"type": "chief", "index": 0}
    assert parse_tf_config(json.dumps(text)).index == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "No host is named"),
        ("gpu-1", "'gpu-1' is not an address"),
        ("gpu-1:99999", "has an invalid port"),
        ("gpu-1:0", "has an invalid port"),
        ("a:1,a:1", "a:1 is named twice"),
        ("a b:1", "is not an address"),
        ("{", "not JSON"),
        ("{}", "names no workers"),
        ('{"cluster": {"worker": "a:1"}}', "names no workers"),
        ('{"cluster": {"worker": ["a:1"], "ps": ["b:1"]}}', "workers only"),
        ('{"cluster": {"worker": ["a:1"], "chief": ["b:1", "c:1"]}}', "more than one chief"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}', "there are 1 workers"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"index": "0"}}', "expected an integer"),
    ],
)
def test_that_a_cluster_that_could_not_work_is_refused(text, expected):
    with pytest.raises(PlanError) as error:
        parse_hosts(text)
    assert expected in str(error.value)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda c: (
            st.lists(c, max_size=3)
            | st.dictionaries(st.sampled_from(["cluster", "worker", "task", "index", "type", "chief"]), c, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_that_no_description_makes_a_traceback(tree):
    try:
        parse_tf_config(json.dumps(tree))
    except PlanError as error:
        assert str(error).endswith(".")
