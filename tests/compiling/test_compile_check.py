"""The figures of a compiled program, and where they are kept."""

from pathlib import Path

import pytest

from planner_app.core.compile.check import Buffer, CompileCheck, Compiled, Program
from planner_app.core.compile.target import derived_target
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Jit, Precision, Setup
from planner_app.errors import Cancelled, SetupError
from planner_app.files.devices.catalogue import find_device
from planner_app.files.kept.compiled import CompileCache, compiled_key, program_key
from planner_app.planner.compile import Compiler, compiled_step, compiler_limits
from planner_app.worker.compile.buffers import is_laid_out, layout_of
from planner_app.worker.compile.hlo_text import readable

COMPILED = Compiled(
    argument_bytes=100,
    output_bytes=60,
    alias_bytes=50,
    temp_bytes=1000,
    peak_bytes=900,
    buffers=(Buffer("fusion.1", "model/dense/MatMul", "", "f32[8,4]", 128),),
)
PROGRAM = Program(b"text", "digest", {"model/dense/MatMul": "dense"}, {"jax": "0.10.2"})
MODEL = CheckedModel(name="small", format="json", config={"class_name": "Sequential"}, compile_config=None)


def check(capacity: int | None) -> CompileCheck:
    device = find_device("L4")
    return CompileCheck(Setup(batch=8), device.name, derived_target(device), COMPILED, capacity, "digest", {})


def test_that_results_in_arguments_memory_are_counted_once():
    assert COMPILED.total_bytes == 100 + 1000 + (60 - 50)


@pytest.mark.parametrize(("capacity", "fits"), [(1110, True), (1109, False), (None, None)])
def test_that_a_check_fits_or_not(capacity, fits):
    assert check(capacity).fits is fits


def test_that_sixteen_bit_types_are_different_programs():
    steps = {compiled_step(Setup(batch=8, precision=Precision(name))) for name in ("mixed_float16", "mixed_bfloat16")}
    assert len(steps) == 2
    assert all(step.xla for step in steps)


@pytest.mark.parametrize(("setup", "said"), [(Setup(8, gpus=2), "2 GPUs"), (Setup(8, jit=Jit.OFF), "--jit off")])
def test_that_what_xla_does_not_compile_is_said(setup, said):
    with pytest.raises(SetupError, match=said):
        compiled_step(setup)


def test_that_a_long_program_gets_more_time_and_memory():
    short, long = (compiler_limits(Program(b"x" * length, "", {}, {})) for length in (10**3, 10**6))
    assert short.seconds < long.seconds
    assert short.memory_bytes < long.memory_bytes


def test_that_what_was_compiled_is_remembered(tmp_path: Path):
    cache = CompileCache(tmp_path)
    key = compiled_key("digest", "target", {"jax": "0.10.2"})
    assert cache.compiled(key) is None
    cache.keep_compiled(key, COMPILED)
    cache.keep_program(key, PROGRAM)
    assert (cache.compiled(key), cache.program(key)) == (COMPILED, PROGRAM)


def test_that_a_spoiled_entry_is_not_believed(tmp_path: Path):
    cache = CompileCache(tmp_path)
    cache.keep_compiled("key", COMPILED)
    entry = next(tmp_path.iterdir())
    entry.write_bytes(entry.read_bytes().replace(b"1000", b"2000"))
    assert cache.compiled("key") is None


def test_that_program_target_and_versions_are_the_key():
    first = compiled_key("digest", "target", {"jax": "0.10.2"})
    others = [("other", "target", "0.10.2"), ("digest", "other", "0.10.2"), ("digest", "target", "0.10.3")]
    assert len({first, *(compiled_key(program, target, {"jax": jax}) for program, target, jax in others)}) == 4


def test_that_a_program_depends_on_the_batch_and_on_who_asks_for_xla():
    step = compiled_step(Setup(8))
    keys = {program_key(MODEL, step, batch, jit, {}) for batch in (8, 16) for jit in (Jit.AUTO, Jit.ON)}
    assert len(keys) == 4


def test_that_a_cancelled_compiler_asks_nobody(tmp_path: Path):
    with Compiler(MODEL, CompileCache(tmp_path)) as compiler:
        compiler.cancel()
        with pytest.raises(Cancelled):
            compiler.check(Setup(8), find_device("L4"))


ASSIGNMENT = """BufferAssignment:
allocation 0: size 400, parameter 0, shape |f32[100]| at ShapeIndex {}, maybe-live-out:
 value: <1 arg @0> (size=400,offset=0): f32[100]{0}
allocation 2: size 200, parameter 1, shape |f32[50]| at ShapeIndex {}:
allocation 3: size 16, output shape is |(f32[100], f32[])|, maybe-live-out:
allocation 4: size 4, thread-local:
allocation 1: size 1600, preallocated-temp:
 value: <2 conv.1{} @0> (size=8,offset=1500): (f32[200]{0}, u8[0]{0})
 value: <3 conv.1{0} @0> (size=800,offset=0): f32[4,50]{1,0}
 value: <4 relu @0> (size=400,offset=800): f32[100]{0}
 value: <5 late @0> (size=1000,offset=0): f32[250]{0}
 value: <6 loop.body @0> (size=300,offset=1200): f32[75]{0}
 value: <7 loop.state @0> (size=300,offset=1200): f32[75]{0}
"""
RANGES = """HloLiveRange (max 9):
  InstructionSequence:
    0:arg
  BufferLiveRange:
    arg{}:0-9
    conv.1{}:1-2
    conv.1{0}:1-4
    relu{}:3-5
    late{}:6-7
    loop.body{}:4-4
    loop.state{}:4-4
"""
OPTIMIZED = """HloModule step, is_scheduled=true

%fused (p: f32[4,50]) -> f32[100] {
  %p = f32[4,50]{1,0} parameter(0)
  ROOT %max.1 = f32[100]{0} maximum(%p, %p), metadata={op_type="Relu" op_name="model/block/relu/Relu"}
}

ENTRY %main (arg: f32[100]) -> f32[100] {
  %arg = f32[100]{0} parameter(0), metadata={op_name="XLA_Args"}
  %conv.1 = (f32[200]{0}, u8[0]{0}) custom-call(%arg), metadata={op_name="model/conv/Conv2D"}
  %relu = f32[100]{0} fusion(%conv.1), kind=kLoop, calls=%fused
  ROOT %late = f32[250]{0} fusion(%relu), kind=kLoop, calls=%other
}
"""


def test_that_the_buffers_of_the_fullest_moment_are_read(tmp_path: Path):
    """At instruction 4: the convolution's result, the ReLU's, and a loop's state, which two values share."""
    layout = layout_of(written(tmp_path))
    assert layout.peak_bytes == 800 + 400 + 300
    assert [(each.name, each.operation, each.shape, each.bytes) for each in layout.buffers[:2]] == [
        ("conv.1{0}", "model/conv/Conv2D", "f32[4,50]", 800),
        ("relu", "model/block/relu/Relu", "f32[100]", 400),
    ]


def test_that_arguments_results_and_the_temporary_block_are_told_apart(tmp_path: Path):
    """A result in an argument's memory is both, and an alias; what threads have on their stack is none of them."""
    layout = layout_of(written(tmp_path))
    assert (layout.argument_bytes, layout.output_bytes, layout.alias_bytes) == (400 + 200, 400 + 16, 400)
    assert layout.temp_bytes == 1600
    assert layout.total_bytes == 600 + 16 + 1600


def test_that_memory_is_read_only_once_it_is_all_written_down(tmp_path: Path):
    assert not is_laid_out(tmp_path)
    folder = written(tmp_path)
    report = next(folder.glob("*-memory-usage-report.txt"))
    report.rename(folder / "elsewhere")
    assert not is_laid_out(folder)
    (folder / "elsewhere").rename(report)
    assert is_laid_out(folder)


def written(folder: Path) -> Path:
    stem = "module_0001.step.sm_9.0a_gpu_after_optimizations"
    texts = {"-buffer-assignment": ASSIGNMENT, "-live-range": RANGES, "": OPTIMIZED, "-memory-usage-report": ""}
    for name, text in texts.items():
        (folder / f"{stem}{name}.txt").write_text(text)
    return folder


MIXED = """ENTRY %main {
  %a = f32[8,4]{1,0} parameter(0)
  %b = bf16[8,4]{1,0} parameter(1)
  %p = pred[8,4]{1,0} compare(f32[8,4]{1,0} %a, f32[8,4]{1,0} %a), direction=GT
  %same = f32[8,4]{1,0} select(pred[8,4]{1,0} %p, f32[8,4]{1,0} %a, f32[8,4]{1,0} %a)
  %c = f32[8,4]{1,0} copy(f32[8,4]{1,0} %a)
  ROOT %s = f32[8,4]{1,0} select(pred[8,4]{1,0} %p, f32[8,4]{1,0} %c, bf16[8,4]{1,0} %b), metadata={op_type="ReluGrad"}
}"""


def test_that_operands_of_several_types_are_converted_and_nothing_else_is_changed():
    before, after = MIXED.splitlines(), readable(MIXED).splitlines()
    assert after[:5] == before[:5]
    assert after[5] == before[5].replace("copy(", "reshape(")
    assert after[6:8] == [
        "  %s.operand2 = f32[8,4]{1,0} convert(bf16[8,4]{1,0} %b)",
        "  ROOT %s = f32[8,4]{1,0} select(pred[8,4]{1,0} %p, f32[8,4]{1,0} %c, f32[8,4]{1,0} %s.operand2), "
        'metadata={op_type="ReluGrad"}',
    ]
    assert after[8:] == before[7:]
