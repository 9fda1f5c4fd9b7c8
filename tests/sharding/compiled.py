"""The compiler's figures for the sharded models on 1, 2, 4 and 8 GPUs of three generations; and, for some of them, the
line over the batch on several GPUs against compilations at batches it was not drawn through.

python -m tests.sharding.compiled            # what is missing in compiled.json; kept as it comes
python -m tests.sharding.compiled --again    # all of it
python -m tests.sharding.compiled --print    # the tables, out of what is kept
"""

import json
import sys
import time
from collections.abc import Iterator
from statistics import median

from planner_app.core.estimate.level import Level, Source
from planner_app.core.model.setup import Backend, Setup
from planner_app.core.sharding.layout import Layout, LayoutName
from planner_app.core.sharding.mesh import Mesh
from planner_app.files.devices.catalogue import find_device
from planner_app.planner.lines import Ask
from planner_app.planner.opening import check_model
from planner_app.planner.planner import Planner
from tests.sharding.truth import CASES, HERE, TEXT

RESULTS = HERE / "compiled.json"
DEVICES = ("NVIDIA Tesla T4", "NVIDIA A100-SXM4-40GB", "NVIDIA H100 80GB HBM3")
ONE = Mesh(1, 1)
WAYS = (
    (ONE, LayoutName.DATA),
    *((Mesh(gpus), layout) for gpus in (2, 4, 8) for layout in (LayoutName.DATA, LayoutName.FSDP)),
    (Mesh(1, 2), LayoutName.AUTO),
    (Mesh(2, 2), LayoutName.AUTO),
    (Mesh(2, 4), LayoutName.AUTO),
)
BATCH = 64  # over all GPUs
LINES = (
    ("convolutional", 0, ONE, LayoutName.DATA),
    ("convolutional", 0, Mesh(4), LayoutName.FSDP),
    ("transformer", 0, ONE, LayoutName.DATA),
    ("transformer", 0, Mesh(4), LayoutName.DATA),
    ("transformer", 4, Mesh(2, 2), LayoutName.AUTO),
    ("transformer", 0, Mesh(8), LayoutName.FSDP),
    ("gemma", 0, ONE, LayoutName.DATA),
    ("gemma", 0, Mesh(2, 2), LayoutName.AUTO),
    ("llama", 4, Mesh(1, 4), LayoutName.AUTO),
    ("dense", 0, Mesh(4), LayoutName.FSDP),
)
TOP_BATCH = 2000  # of one GPU, at the end of a line
PLACES = (0.35, 0.6, 0.85)  # of the batches that are held out, between the line's first anchor and its last (log)


def setup_of(model: str, lora: int, mesh: Mesh, layout: LayoutName, batch: int = BATCH) -> Setup:
    return Setup(
        batch=batch,
        backend=Backend.JAX,
        mesh=mesh,
        layout=Layout(layout),
        lora=str(lora) if lora else "",
        sizes=TEXT if model in ("gemma", "llama") else (),
    )


def planner_of(model: str) -> Planner:
    return Planner(check_model(f"{HERE / 'sharded_models.py'}:{model}"), calibrated=False, ask=Ask.NEVER)


def figures(model: str, lora: int, name: str) -> Iterator[dict[str, object]]:
    planner, device = planner_of(model), find_device(name)
    with planner.workers:
        for mesh, layout in WAYS:
            setup = setup_of(model, lora, mesh, layout)
            estimated = planner.need(setup, device).estimated(setup.per_gpu_batch)
            line = planner.lines.compile(setup, device)
            anchor = line.anchor(setup.per_gpu_batch)
            yield {
                "model": model,
                "lora": lora,
                "device": name,
                "mesh": str(mesh),
                "layout": layout.value,
                "gpus": mesh.gpus,
                "estimated": [estimated.low_bytes, estimated.peak_bytes, estimated.high_bytes],
                "compiled_bytes": anchor.total_bytes if anchor else 0,
                "trouble": line.trouble,
            }


def line_over_the_batch(model: str, lora: int, mesh: Mesh, layout: LayoutName, name: str) -> dict[str, object]:
    planner, device = planner_of(model), find_device(name)
    setup = setup_of(model, lora, mesh, layout, batch=8 * mesh.data)
    with planner.workers:
        need = planner.need(setup, device)
        top = need.estimated(TOP_BATCH).peak_bytes
        for _ in planner.lines.fill(setup, device, need.estimated, top):
            pass
        drawn = planner.lines.known(setup, device)
        anchors = [anchor.batch for anchor in drawn.anchors]
        held_out = []
        for batch in _between(anchors):
            said = drawn.level(batch, need.estimated)
            compiled = planner.lines.compile(setup.with_batch(batch * setup.shares), device).anchor(batch)
            if compiled:
                held_out.append(_compared(batch, said, compiled.total_bytes))
    return {
        "model": model,
        "lora": lora,
        "device": name,
        "mesh": str(mesh),
        "layout": layout.value,
        "anchors": anchors,
        "held_out": held_out,
        "trouble": drawn.trouble,
    }


def _between(anchors: list[int]) -> list[int]:
    low, high = min(anchors), max(anchors)
    wanted = (round(low * (high / low) ** place) for place in PLACES)
    return sorted({batch for batch in wanted if batch not in anchors})


def _compared(batch: int, said: Level, compiled_bytes: int) -> dict[str, object]:
    assert said.source is not Source.ESTIMATE
    return {
        "batch": batch,
        "compiled_bytes": compiled_bytes,
        "error": said.peak_bytes / compiled_bytes - 1,
        "in_band": said.low_bytes <= compiled_bytes <= said.high_bytes,
    }


def markdown(kept: dict[str, list[dict]]) -> str:
    return "\n".join([*_figures_told(kept["figures"]), "", *_lines_told(kept["lines"])])


def _figures_told(rows: list[dict]) -> Iterator[str]:
    yield "| model | mesh | layout | " + " | ".join(device.removeprefix("NVIDIA ") for device in DEVICES) + " |"
    yield "|---|---|---|" + "---:|" * len(DEVICES)
    found = {(row["model"], row["lora"], row["mesh"], row["layout"], row["device"]): row for row in rows}
    for model, lora, mesh, layout in dict.fromkeys(key[:4] for key in found):
        cells = []
        for device in DEVICES:
            row = found.get((model, lora, mesh, layout, device))
            cells.append(f"{row['compiled_bytes'] / 2**20:.1f} MiB" if row and row["compiled_bytes"] else "")
        yield f"| {model}{f', LoRA {lora}' if lora else ''} | {mesh} | {layout} | {' | '.join(cells)} |"
    good = [row for row in rows if row["compiled_bytes"]]
    errors = [abs(row["estimated"][1] / row["compiled_bytes"] - 1) for row in good]
    inside = sum(row["estimated"][0] <= row["compiled_bytes"] <= row["estimated"][2] for row in good)
    yield ""
    yield (
        f"{len(good)} of {len(rows)} compiled; the estimate before: median error {median(errors):.1%}, "
        f"in the band {inside / len(good):.0%}."
    )


def _lines_told(rows: list[dict]) -> Iterator[str]:
    yield "| model | mesh | layout | GPU | compilations | held-out batches: error |"
    yield "|---|---|---|---|---:|---|"
    for row in rows:
        name = row["model"] + (f", LoRA {row['lora']}" if row["lora"] else "")
        errors = ", ".join(
            f"{each['batch']}: {each['error']:+.1%}{'' if each['in_band'] else ' **missed**'}"
            for each in row["held_out"]
        )
        device = row["device"].removeprefix("NVIDIA ")
        yield f"| {name} | {row['mesh']} | {row['layout']} | {device} | {len(row['anchors'])} | {errors} |"
    held = [(row, each) for row in rows for each in row["held_out"]]
    for words, several in (("one GPU", False), ("several GPUs", True)):
        errors = [abs(each["error"]) for row, each in held if (row["mesh"] != str(ONE)) is several]
        inside = [each["in_band"] for row, each in held if (row["mesh"] != str(ONE)) is several]
        if errors:
            yield ""
            yield (
                f"{words}: {len(errors)} batches between anchors, median error {median(errors):.1%}, at the most "
                f"{max(errors):.1%}, in the line's band {sum(inside) / len(inside):.0%}."
            )


def _write(kept: dict[str, list[dict]]) -> None:
    lists = (
        f'"{name}": [\n' + ",\n".join(f" {json.dumps(row)}" for row in rows) + "\n]" for name, rows in kept.items()
    )
    RESULTS.write_text("{\n" + ",\n".join(lists) + "\n}\n")


def main() -> int:
    fresh = "--again" in sys.argv or not RESULTS.exists()
    kept: dict[str, list[dict]] = {"figures": [], "lines": []} if fresh else json.loads(RESULTS.read_text())
    if "--print" not in sys.argv:
        done = {(row["model"], row["lora"], row["device"]) for row in kept["figures"]}
        for device in DEVICES:
            for model, lora in CASES:
                if (model, lora, device) not in done:
                    began = time.monotonic()
                    kept["figures"] += list(figures(model, lora, device))
                    _write(kept)
                    print(f"{model} lora={lora} on {device}: {time.monotonic() - began:.0f} s", flush=True)
        for number, (model, lora, mesh, layout) in enumerate(LINES[len(kept["lines"]) :], len(kept["lines"])):
            device = DEVICES[number % len(DEVICES)]
            kept["lines"].append(line_over_the_batch(model, lora, mesh, layout, device))
            _write(kept)
            print(f"line of {model} lora={lora} {mesh} {layout.value} on {device}", flush=True)
    print(markdown(kept))
    return 0 if all(row["compiled_bytes"] for row in kept["figures"]) else 1


if __name__ == "__main__":
    sys.exit(main())
