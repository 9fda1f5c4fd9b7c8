"""Kinds of failure that one line tells, what is said about them, and what is not said."""

import pytest
from corpus import FILES, diagnosed

from planner_app.core.doctor import Kind, Sure, diagnose_text
from planner_app.core.doctor.signs import SIGNS
from planner_app.core.doctor.signs.sign import told

SMALLER = "smaller batch"


def test_that_every_row_of_the_table_says_what_it_means():
    assert len({sign.name for sign in SIGNS}) == len(SIGNS)
    for sign in SIGNS:
        assert sign.says and all(sentence.endswith(".") for sentence in (*sign.says, *sign.means, *sign.do))
        assert sign.sure is not Sure.POSSIBLE or sign.asks
        assert all(rule.name == sign.name for rule in sign.rules)


def test_that_the_last_verdict_of_a_row_needs_only_what_every_spelling_tells():
    for sign in SIGNS:
        for rule in sign.rules:
            names = {*rule.after.groupindex, *(rule.before.groupindex if rule.before else ())}
            groups = {**rule.given, **{name: "B" if name.endswith("_unit") else "1" for name in names}}
            assert told(sign.says, groups), (sign.name, rule.mark)


@pytest.mark.parametrize(
    "name", ["batch_of_one", "jax_small_request", "tf14_nothing_free", "pinned_wsl", "real_dmesg_cgroup"]
)
def test_that_a_smaller_batch_is_advised_only_where_it_can_help(name):
    helps = name == "jax_small_request"
    assert any(SMALLER in remedy for remedy in diagnosed(name).remedies) is helps


def test_that_a_size_to_plan_for_is_named_only_where_the_log_tells_one():
    for name in FILES:
        found = diagnosed(name)
        for remedy in found.remedies:
            assert "--device 8GiB" not in remedy
            if "--device " in remedy and "GiB" in remedy:
                assert found.kind is Kind.OTHER_PROCESS and (found.limit_bytes or found.total_bytes)


def test_that_what_is_not_proven_is_not_called_certain():
    for name in ("glued_killed", "docker_exit_137", "colab_restart", "real_child_killed", "jax_no_reference", "cubin"):
        assert diagnosed(name).sure is not Sure.CERTAIN
    for name in ("glued_killed", "docker_exit_137", "colab_restart", "tf24_little_limit", "jax_solver_handle"):
        assert diagnosed(name).question.count("?") >= 1
    for name in ("kubectl_describe", "slurm_oom_killed_tasks", "real_dmesg_cgroup", "colab_ram"):
        assert (diagnosed(name).sure, diagnosed(name).question) == (Sure.CERTAIN, "")


@pytest.mark.parametrize("text", ["Killed", "Exit code: 137", "worker exited (137)"])
def test_that_a_process_that_was_killed_gets_a_careful_answer(text):
    found = diagnose_text(text)
    assert (found.kind, found.sure) == (Kind.KILLED, Sure.POSSIBLE)
    assert "dmesg" in found.question


def test_that_memory_that_was_free_rules_memory_out():
    full, empty = diagnosed("jax_cudnn_handle_full"), diagnosed("jax_cudnn_handle_empty")
    assert "only 87.0 MiB of 3.94 GiB were free" in full.verdict
    assert (empty.kind, empty.kind.failed) == (Kind.OTHER_ERROR, False)


def test_that_each_framework_gets_its_own_advice():
    jax, torch = diagnosed("jax_buffer_assignment"), diagnosed("pytorch_newer")
    assert (jax.framework, torch.framework) == ("JAX", "PyTorch")
    assert not any("Keras" in remedy or "keras" in remedy or "jit_compile" in remedy for remedy in jax.remedies)
    assert torch.remedies[-1].startswith("Estimates and advice of this program are for Keras models")
    assert "Process 5521 holds 14.1 GiB." in torch.why


def test_that_ranks_are_told_apart():
    found = diagnosed("real_interleaved")
    assert (found.rank, found.in_use_bytes) == ("1", 285771008)
    assert "last step" not in " ".join(found.why)  # the other rank's
    assert diagnosed("ray_worker").rank == "TrainWorker pid=4411, ip=10.0.0.7"


def test_that_who_held_the_memory_adds_up():
    shares = {share.who: share.size_bytes for share in diagnosed("pytorch_newer").shares}
    assert abs(sum(shares.values()) - round(23.65 * 2**30)) < 2**20
    shares = {share.who: share.size_bytes for share in diagnosed("tf24_requested_by").shares}
    assert sum(shares.values()) == diagnosed("tf24_requested_by").limit_bytes


def test_that_what_is_missing_is_said():
    assert "TF_CPP_MIN_LOG_LEVEL" in diagnosed("batch_of_one").missing[0]
    assert "further up" in diagnosed("dump_without_head").missing[0]
    assert not diagnosed("tf24_requested_by").missing


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("zsh: killed     python fit.py", Kind.KILLED),
        ("[1]+  Killed                  python fit.py", Kind.KILLED),
        ("./job.sh: line 3: 12345 Killed                  python fit.py", Kind.KILLED),
        ("Container killed on request. Exit code is 137", Kind.KILLED),
        ("The kernel for fit.ipynb appears to have died. It will restart automatically.", Kind.KILLED),
        ("Container killed by YARN for exceeding memory limits. 5 GB of 5 GB physical memory used.", Kind.HOST),
        ("=>> PBS: job killed: mem 4194500kb exceeded limit 4194304kb", Kind.HOST),
        ("slurmstepd: error: Step 7.0 exceeded memory limit (8419328 > 8388608), being killed", Kind.HOST),
        (
            "ResourceExhaustedError: Failed to allocate memory for the batch of component 0 [Op:IteratorGetNext]",
            Kind.HOST,
        ),
        ("OSError: [WinError 1455] The paging file is too small for this operation to complete", Kind.HOST),
        ("RuntimeError: CUDA error: out of memory", Kind.UNKNOWN),
        ("torch.cuda.OutOfMemoryError: Allocation on device", Kind.UNKNOWN),
        ("java.lang.OutOfMemoryError: Java heap space", Kind.UNKNOWN),
        (
            "E gpu.cc:91] CUDA runtime implicit initialization on GPU:0 failed. Status: out of memory",
            Kind.OTHER_PROCESS,
        ),
        (
            "RESOURCE_EXHAUSTED: Attempting to reserve 9.71G at the bottom of memory. There are 7.98G free",
            Kind.SHORTAGE,
        ),
        ("InternalError: Blas GEMM launch failed : a.shape=(32, 784), b.shape=(784, 512)", Kind.LIBRARIES),
        ("OSError: [Errno 28] No space left on device", Kind.OTHER_ERROR),
        ("RESOURCE_EXHAUSTED: Received message larger than max (5 vs. 4)", Kind.OTHER_ERROR),
        ('"OOMKilled": false, "ExitCode": 1', Kind.NONE),
        ("UserWarning: Your input ran out of data; interrupting training.", Kind.NONE),
        ("Segmentation fault (core dumped)", Kind.NONE),
        (
            "W Failed to allocate memory for convolution redzone checking; skipping this check. This is benign",
            Kind.NONE,
        ),
        ("My GPU runs out of memory sometimes, any advice?", Kind.NONE),
    ],
)
def test_that_one_line_is_enough_where_it_tells(line, kind):
    assert diagnose_text(line).kind is kind
