"""Reading what a child writes: any bytes, cut anywhere."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner_app.foreign_text import for_terminal
from planner_app.jobs.protocol import Event, Failed, Finished, Progress, Started
from planner_app.jobs.stream import TAIL_BYTES, EventReader, Tail, Trouble

TEXT = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]))
EVENTS = st.lists(
    st.one_of(
        st.builds(Started, sandbox=st.tuples(TEXT), missing=st.tuples()),
        st.builds(Progress, done=st.integers(0, 9), of=st.integers(0, 9), text=TEXT),
        st.builds(Failed, error=TEXT, reason=TEXT, detail=TEXT),
    ),
    max_size=8,
)

# A machine with much else to do is no fault of what is tested.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def lines(events: list[Event]) -> bytes:
    return b"".join(msgspec.json.encode(event) + b"\n" for event in events)


@PATIENT
@given(EVENTS, st.lists(st.integers(1, 40), min_size=1))
def test_that_events_arrive_as_sent_however_they_are_cut(events, cuts):
    reader, stream, heard = EventReader(), lines(events), []
    for cut in cuts:
        heard += reader.feed(stream[:cut])
        stream = stream[cut:]
    heard += reader.feed(stream)
    expected = [msgspec.structs.replace(e, text=for_terminal(e.text)) if isinstance(e, Progress) else e for e in events]
    assert [type(event) for event in heard] == [type(event) for event in expected]
    assert lines(heard) == lines(
        [
            msgspec.structs.replace(e, reason=for_terminal(e.reason), detail=for_terminal(e.detail))
            if isinstance(e, Failed)
            else e
            for e in expected
        ]
    )
    assert not reader.unfinished


@PATIENT
@given(st.lists(st.binary(max_size=200), max_size=8))
def test_that_any_bytes_are_events_or_trouble(chunks):
    reader = EventReader()
    try:
        for chunk in chunks:
            assert reader.feed(chunk) == []
    except Trouble as trouble:
        assert str(trouble).endswith("stopped.")


def test_that_a_result_is_kept_as_it_came():
    (event,) = EventReader().feed(b'{"type":"Finished","result":{"peak_bytes":5368709120}}\n')
    assert isinstance(event, Finished)
    assert bytes(event.result) == b'{"peak_bytes":5368709120}'


def test_that_a_tail_keeps_the_end():
    tail = Tail()
    for number in range(100_000):
        tail.feed(b"%d\n" % number)
    assert tail.text.endswith("99998\n99999")
    assert len(tail.text) <= TAIL_BYTES


def test_that_a_line_of_the_greatest_length_is_read_and_a_longer_one_not():
    line = msgspec.json.encode(Progress(done=1, of=1, text="x" * (200 << 10))) + b"\n"
    assert len(EventReader().feed(line)) == 1
    with pytest.raises(Trouble, match="longer than 256 KiB"):
        EventReader().feed(msgspec.json.encode(Progress(done=1, of=1, text="x" * (300 << 10))) + b"\n")
