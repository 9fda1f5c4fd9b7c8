"""The whole corpus: verdict, device, layer and numbers of each log."""

import pytest
from corpus import FILES, ROWS, diagnosed, in_pieces, log

from planner_app.core.doctor import Kind, diagnose, diagnose_text

MOST_PIECES = 16_384  # of one log: enough for a report and its dump


def test_that_every_log_is_expected_to_say_something():
    assert {row[0] for row in ROWS} == set(FILES)
    assert len(ROWS) >= 40
    assert {Kind[row[1]] for row in ROWS} == set(Kind)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_that_a_log_says_what_happened(row):
    found = diagnosed(row[0])
    shape = "x".join(map(str, found.shape)) if found.shape is not None else ""
    said = [
        found.kind.name,
        found.device,
        found.layer,
        found.phase,
        found.term,
        _number(found.requested_bytes),
        _number(found.limit_bytes),
        _number(found.in_use_bytes),
        shape,
        found.dtype,
    ]
    assert [each or "-" for each in said] == row[1:]


def _number(count: int | None) -> str:
    return "" if count is None else str(count)


@pytest.mark.parametrize("name", sorted(FILES))
def test_that_evidence_is_in_the_log_where_it_says(name):
    found = diagnosed(name)
    if found.kind.failed:
        assert found.evidence
    encoding = "utf-16" if name == "powershell_utf16" else "utf-8"
    lines = log(name).decode(encoding, "replace").split("\n")
    for evidence in (*found.evidence, *(line for note in found.notes for line in note.evidence)):
        words = [word for word in evidence.text.split() if word.isascii() and word.isprintable()]
        assert all(word in lines[evidence.line - 1] for word in words[:5]), evidence


@pytest.mark.parametrize("size", [1, 7, 97, 4096])
@pytest.mark.parametrize("name", ["tf24_requested_by", "wrapped_by_terminal", "powershell_utf16", "tf26_eager_const"])
def test_that_pieces_of_any_size_say_the_same(name, size):
    beginning = log(name)[: MOST_PIECES * size]
    assert diagnose(in_pieces(beginning, size)) == diagnose([beginning])


@pytest.mark.parametrize("name", sorted(FILES))
def test_that_half_a_log_is_read_as_far_as_it_goes(name):
    whole = log(name)
    for share in (0.2, 0.5, 0.9):
        found = diagnose([whole[: int(len(whole) * share)]])
        assert isinstance(found.verdict, str)
        if found.kind is Kind.NONE:
            assert found.verdict == "This log holds no out-of-memory report."


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "hello",
        "My model has memory and attention layers; allocate time for it.",
        "Allocator design in C++: ran out of memory trying to allocate an MX_BUFFER structure.",
        "def killed(): return 'Killed'",
        "loss: 0.1 - OOM: none",
        "the exit code of 137 models was 0",
        "Nobody was Killed",
        "raise MemoryErrorHandler",
        "x" * 3_000_000,
    ],
)
def test_that_unknown_text_gets_no_guess(text):
    found = diagnose_text(text)
    assert (found.kind, found.verdict) == (Kind.NONE, "This log holds no out-of-memory report.")
    assert (found.layer, found.device, found.requested_bytes) == ("", "", None)


def test_that_fragmentation_is_told_from_shortage():
    pieces, short = diagnosed("tf29_fragmented"), diagnosed("tf29_optimizer_update")
    assert pieces.requested_bytes <= pieces.free_bytes
    assert pieces.requested_bytes > pieces.largest_free_bytes == 175570944
    assert short.requested_bytes > short.free_bytes
    assert any("cuda_malloc_async" in remedy for remedy in pieces.remedies)
    assert not any("cuda_malloc_async" in remedy for remedy in short.remedies)


def test_that_a_leak_is_told_from_a_peak():
    grown, peak = diagnosed("after_200_epochs"), diagnosed("tf115_conv_backward")
    assert (grown.in_first_step, grown.steps) == (False, 200 * 50 + 17)
    assert "in epoch 201 of 500" in grown.verdict
    assert (peak.in_first_step, peak.steps) == (True, 0)
    assert "not a leak" in " ".join(peak.why)
    loop = diagnosed("tf221_provoked_models_pile_up")
    assert "19 calls of fit()" in loop.verdict
    assert any("process of its own" in remedy for remedy in loop.remedies)
    assert any(holder.count > 100 for holder in loop.holders)


def test_that_validation_is_no_leak():
    for name in ("tf210_validation", "tf221_provoked_validation"):
        found = diagnosed(name)
        assert (found.kind, found.during) == (Kind.SHORTAGE, "validation")


def test_that_the_gpu_is_named():
    assert diagnosed("tf26_mirrored_second_gpu").device == "GPU:1"
    assert diagnosed("tf26_mirrored_second_gpu").device_name == "NVIDIA GeForce GTX 1080 Ti"
    assert diagnosed("tf213_all_reduce").device == "GPU:3"


def test_that_the_gpu_is_named_before_a_device_is_made_of_it():
    for line in (
        "name: GeForce GTX 1080 major: 6 minor: 1 memoryClockRate(GHz): 1.8",
        "name: GeForce GTX 1080 computeCapability: 6.1",
    ):
        found = diagnose([f"{line}\nAllocator (GPU_0_bfc) ran out of memory trying to allocate 12.25MiB.\n".encode()])
        assert found.device_name == "GeForce GTX 1080"


def test_that_a_shared_gpu_is_known_by_what_it_should_have():
    assert diagnosed("shared_t4").kind is Kind.OTHER_PROCESS
    assert diagnose([log("shared_t4")]).kind is Kind.SHORTAGE  # nobody said what a T4 has
    assert "Process 9215 (python3) holds 13.9 GiB." in diagnosed("gpu_full").why


def test_that_harmless_lines_are_called_so():
    for name in ("workspace_warnings", "preallocation_refused", "tf221_preallocation_refused", "host_warning"):
        found = diagnosed(name)
        assert not found.kind.failed
        assert found.verdict.startswith("Nothing failed: ")


def test_that_a_failure_is_not_hidden_by_harmless_lines():
    warned = b"".join(log("workspace_warnings").splitlines(True)[:3])
    refused = b"".join(log("preallocation_refused").splitlines(True)[:4])
    found = diagnose([warned, refused, log("tf29_fragmented")])
    assert found.kind is Kind.FRAGMENTED
    assert len(found.notes) == 2
    assert all("harmless" in note.text or "not a failure" in note.text for note in found.notes)


def test_that_who_holds_the_memory_is_told_where_the_log_tells():
    found = diagnosed("tf115_who_holds")
    assert [(holder.layer, holder.size_bytes >> 20) for holder in found.holders] == [
        ("conv2d_5", 671),
        ("conv2d_11", 192),
        ("conv2d_3", 168),
    ]


def test_that_more_failures_are_counted():
    found = diagnosed("tf221_provoked_optimizer_state")
    assert [other.operation.rpartition("/")[2] for other in found.others] == [
        "AssignAddVariableOp_1",
        "AssignAddVariableOp_4",
    ]
    many = diagnose([log("tf24_little_limit")] * 500)
    assert len(many.others) + many.more == 499


def test_that_what_xla_says_is_told():
    found = diagnosed("tf215_xla_bytes")
    assert "Its largest buffer is 1.52 GiB, of model/stage2_conv/Conv2D." in found.why
    assert any("jit_compile=False" in remedy for remedy in found.remedies)


def test_that_a_failed_copy_is_known_as_out_of_memory():
    assert "tf.device('CPU:0')" in diagnosed("tf26_eager_const").remedies[0]
    assert "Dst tensor is not initialized" in diagnosed("tf1_dst_tensor").verdict


def test_that_a_node_tells_the_device_where_nothing_else_does():
    said = diagnose_text(
        "ResourceExhaustedError: OOM when allocating tensor of shape [90000,200] and type float\n"
        "\t [[Node: training/Adam/zeros_2 = Const[dtype=DT_FLOAT, "
        '_device="/job:localhost/replica:0/task:0/gpu:1"]()]]\n'
        '\t [[Node: add/_75 = _Recv[_device="/job:localhost/replica:0/task:0/device:CPU:0"]()]]\n'
    )
    assert said.device == "GPU:1"


def test_that_a_small_tensor_is_not_blamed_for_a_full_memory():
    small, large = (
        diagnose_text(f"OOM when allocating tensor with shape[{batch},27,1,249] and type float\n")
        for batch in (100, 100_000)
    )
    assert any("memory was full before" in line for line in small.why)
    assert not any("memory was full before" in line for line in large.why)


def test_that_kernels_xla_tried_in_vain_are_harmless_where_it_went_on():
    tried = (
        "  Profiling failure on cuDNN engine eng1: RESOURCE_EXHAUSTED: Allocating 3230000000 bytes exceeds the limit.\n"
    )
    fell_back = (
        "INTERNAL: All algorithms tried for %conv failed. Falling back to default algorithm.  Per-algorithm errors:\n"
    )
    assert diagnose_text(fell_back + tried).kind is Kind.HARMLESS
    assert diagnose_text(tried).kind is not Kind.HARMLESS


def test_that_a_tpu_is_not_told_to_do_without_xla():
    said = diagnose_text(
        "XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 19.26G of 15.48G hbm.\n"
    )
    assert said.remedies and not any("jit_compile" in remedy for remedy in said.remedies)


def test_that_keras_on_jax_gets_what_keras_can_do():
    error = "jaxlib.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9000000000 bytes.\n"
    bare = diagnose_text(error)
    of_keras = diagnose_text('  File "/lib/keras/src/backend/jax/trainer.py", line 370, in fit\n' + error)
    assert any("jax.checkpoint" in remedy for remedy in bare.remedies)
    assert not any("jax.checkpoint" in remedy or "donate" in remedy for remedy in of_keras.remedies)
    assert any("keras.RematScope" in remedy for remedy in of_keras.remedies)


def test_that_the_spelling_of_a_cpu_behind_that_of_a_gpu_does_not_move_the_failure():
    said = diagnose_text(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 18253611008 bytes.\n"
        "RESOURCE_EXHAUSTED: Out of memory allocating 18253611008 bytes.\n"
    )
    assert said.kind is Kind.XLA
