"""Logs in files of other kinds: compressed, archives, notebooks, a collector's records, TensorBoard's."""

import bz2
import gzip
import io
import json
import lzma
import struct
import tarfile
import zipfile

from fuzz_changes import changed_bytes as mutate
from rich.console import Console

from fuzz_targets.common import READ, refused, shown
from planner_app.errors import PlannerError
from planner_app.files.logs import diagnosed_stream
from planner_app.reports.doctor_text import show

KIND = "logs"
LOG = (
    b"Epoch 1/2\n"
    b"OOM when allocating tensor with shape[64,256,56,56] and type float on "
    b"/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    b"\t [[{{node model/conv_2/Conv2D}}]]\n"
)
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    text = LOG.decode()
    cell = {"cell_type": "code", "outputs": [{"output_type": "stream", "name": "stdout", "text": [text]}], "source": []}
    step = b"\x10\x05"  # an event whose number is 5
    return [
        gzip.compress(LOG * 20),
        bz2.compress(LOG * 20),
        lzma.compress(LOG * 20),
        _zip(),
        _tar(),
        gzip.compress(_tar()),
        json.dumps({"cells": [cell, cell], "metadata": {}, "nbformat": 4}).encode(),
        b"".join(json.dumps({"log": line, "stream": "stderr"}).encode() + b"\n" for line in text.splitlines(True)),
        (struct.pack("<Q", len(step)) + bytes(4) + step + bytes(4)) * 5,
    ]


def run(data: bytes) -> str:
    try:
        found = diagnosed_stream(io.BytesIO(data), name="train.log")
    except PlannerError as error:
        return refused(error)
    page = io.StringIO()
    show(found, Console(file=page, width=100))
    shown(page.getvalue().replace("\n", " "))
    return READ


def _zip() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rank0.log", LOG)
        archive.writestr("rank1.log.gz", gzip.compress(LOG))
    return packed.getvalue()


def _tar() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("rank0.log")
        member.size = len(LOG)
        archive.addfile(member, io.BytesIO(LOG))
    return packed.getvalue()
