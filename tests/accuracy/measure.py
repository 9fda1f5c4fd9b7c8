"""Measure one case on this machine's CPU, in this process, and print what was found as one JSON object.

    python tests/accuracy/measure.py MODEL.keras --batch 8 [--precision P] [--optimizer O] [--accumulate N] [--ordinary]

TensorFlow's CPU device takes its memory from the same allocator as its GPU devices when it is told to, and keeps the
same books. Once in a process: TensorFlow never gives memory back, so a second case would find the first one's pool.
"""

import argparse
import json
import os
from pathlib import Path

from cases import Case

LIMIT_MIB = 20_000  # more than any case needs: nothing here should run out of memory


def main() -> None:
    case, file, is_ordinary, events = _arguments()
    os.environ.update(
        TF_CPP_MIN_LOG_LEVEL="3",
        CUDA_VISIBLE_DEVICES="-1",
        TF_CPU_ALLOCATOR_USE_BFC="1",
        TF_CPU_BFC_MEM_LIMIT_IN_MB=str(LIMIT_MIB),
        TF_ENABLE_ONEDNN_OPTS="0",  # its kernels lay tensors out anew, as no GPU kernel does
    )
    if is_ordinary:
        from ordinary import ordinary

        found = ordinary(file, case)
    else:
        from inline import inline

        found = inline(file, case, events)
    print(json.dumps(found))


def _arguments() -> tuple[Case, Path, bool, Path | None]:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--optimizer", default="adam")
    parser.add_argument("--accumulate", type=int, default=0)
    parser.add_argument("--ordinary", action="store_true", help="with the ordinary thread pool, by train_on_batch")
    parser.add_argument("--events", type=Path, help="write every allocation and release here, one JSON a line")
    given = parser.parse_args()
    case = Case(given.model.stem, given.batch, given.precision, given.optimizer, given.accumulate)
    return case, given.model, given.ordinary, given.events


if __name__ == "__main__":
    main()
