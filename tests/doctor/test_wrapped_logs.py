"""Logs in files of other kinds: compressed, archives, notebooks, TensorBoard's."""

import bz2
import gzip
import io
import json
import lzma
import struct
import tarfile
import zipfile

import pytest
from corpus import log

from planner_app.errors import PlannerError
from planner_app.files.logs import read_log

LOG = log("tf24_requested_by")
ASKED = 18874368


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"])
def test_that_a_compressed_log_says_the_same(tmp_path, pack):
    file = tmp_path / "train.log.packed"
    file.write_bytes(pack(LOG[:20_000]) + pack(LOG[20_000:]))
    assert read_log(file).requested_bytes == ASKED


@pytest.mark.parametrize("key", ["log", "message", "textPayload", "jsonPayload"])
def test_that_a_log_which_a_collector_wrote_as_records_says_the_same(tmp_path, key):
    file, plain = tmp_path / "pod.log", tmp_path / "plain.log"
    plain.write_bytes(LOG)
    texts = [line + "\n" for line in LOG.decode().split("\n")]
    said = [{key: {"message": text} if key == "jsonPayload" else text, "stream": "stderr"} for text in texts]
    file.write_text("".join(json.dumps(record) + "\n" for record in said))
    assert read_log(file) == read_log(plain)


def test_that_of_a_record_of_several_lines_the_place_is_told(tmp_path):
    file = tmp_path / "pod.log"
    file.write_text(json.dumps({"log": "Epoch 1/3\n"}) + "\n" + json.dumps({"log": LOG.decode()}))
    found = read_log(file)
    assert (found.requested_bytes, found.evidence[0].place) == (ASKED, "record 2, line 1")


def test_that_half_a_compressed_log_is_read_as_far_as_it_goes(tmp_path):
    file = tmp_path / "train.log.gz"
    file.write_bytes(gzip.compress(LOG)[:3000])
    found = read_log(file)
    assert found.requested_bytes == ASKED
    assert any("cut off" in note.text for note in found.notes)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress], ids=["gz", "xz", "bz2"])
@pytest.mark.parametrize("place", [30, -6])
def test_that_a_damaged_log_is_read_as_far_as_it_goes(tmp_path, pack, place):
    data = bytearray(pack(LOG))
    data[place] ^= 0xFF
    file = tmp_path / "train.log.packed"
    file.write_bytes(data)
    found = read_log(file)
    assert any("damaged" in note.text for note in found.notes)
    if pack is gzip.compress and place < 0:  # its sum at the end is wrong, what is told is not
        assert found.requested_bytes == ASKED


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_that_in_an_archive_the_process_that_failed_is_found(tmp_path, kind):
    file = tmp_path / f"logs.{kind}"
    members = {"rank0.log": b"Epoch 1/5\n", "rank1.log": LOG, "rank2.log": b"Epoch 1/5\n", "rank3.log": b"Epoch 1/5\n"}
    if kind == "zip":
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
    else:
        with tarfile.open(file, "w:gz") as archive:
            for name, data in members.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    found = read_log(file)
    assert (found.requested_bytes, found.rank, found.evidence[0].line) == (ASKED, "rank1.log", 1)


@pytest.mark.parametrize("indent", [1, None])
def test_that_of_a_notebook_only_what_its_cells_wrote_counts(tmp_path, indent):
    file = tmp_path / "train.ipynb"
    quoted = "CUDA out of memory. Tried to allocate 2.00 GiB"
    book = {
        "nbformat": 4,
        "cells": [
            {"cell_type": "markdown", "source": [quoted]},
            {"cell_type": "code", "execution_count": 7, "source": [quoted], "outputs": [{"text": LOG.decode()}]},
        ],
    }
    file.write_text(json.dumps(book, indent=indent))
    found = read_log(file)
    assert (found.requested_bytes, found.framework, found.more, found.others) == (ASKED, "TensorFlow", 0, ())
    assert found.evidence[0].place == "cell 7, line 1"


def test_that_a_traceback_in_a_notebook_is_read(tmp_path):
    file = tmp_path / "train.ipynb"
    raised = {
        "output_type": "error",
        "ename": "MemoryError",
        "evalue": "",
        "traceback": ["\x1b[0;31mMemoryError\x1b[0m: "],
    }
    file.write_text(json.dumps({"cells": [{"outputs": [raised]}], "nbformat": 4}))
    assert read_log(file).verdict == "The machine's own memory ran out, not a GPU's."
    file.write_text(json.dumps({"cells": [{"outputs": [{**raised, "ename": "MemoryError", "traceback": ["---"]}]}]}))
    assert read_log(file).kind.failed


def test_that_a_tensorboard_file_tells_how_far_training_came(tmp_path):
    file = tmp_path / "events.out.tfevents.1.host"
    scalar = b"\x0a\x04loss\x15" + struct.pack("<f", 0.5)
    summary = b"\x0a" + bytes([len(scalar)]) + scalar
    events = [b"\x1a\x0dbrain.Event:2", b"\x10\x2a\x2a" + bytes([len(summary)]) + summary]
    file.write_bytes(b"".join(struct.pack("<Q", len(event)) + bytes(4) + event + bytes(4) for event in events))
    found = read_log(file)
    assert found.steps == 42
    assert "step 42" in found.notes[-1].text


def test_that_what_can_t_be_unpacked_gets_a_sentence(tmp_path):
    for data in (b"\x28\xb5\x2f\xfd" + bytes(50), b"PK\x03\x04" + bytes(50)):
        file = tmp_path / "packed"
        file.write_bytes(data)
        with pytest.raises(PlannerError, match=r"\.$"):
            read_log(file)
