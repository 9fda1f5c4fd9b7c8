"""A search that was cut short, to be gone on with."""

from fuzz_changes import changed_json as mutate

from fuzz_targets.common import READ, REFUSED, corpus, emptied
from planner_app.core.measure.search import next_batch
from planner_app.files.kept.searches import SearchFile

KIND = "files of the app's own"
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("searches/*.json")


def run(data: bytes) -> str:
    place = emptied("searches")
    search = SearchFile("fuzz", folder=place)
    search.keep(())
    next(iter(place.iterdir())).write_bytes(data)
    tries = search.read()
    next_batch(tries, 64)
    return READ if tries else REFUSED
