"""The cache of traces: entries as they lie on the disk, and bodies that their digest agrees with."""

from fuzz_changes import changed_json as mutate

from fuzz_targets.common import READ, REFUSED, corpus, folder
from planner_app.files.kept.traces import TraceCache, _head

KIND = "files of the app's own"
KEY = "ab" * 20
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return [_signed(body) for body in corpus("trace/*.json")] + corpus("trace/*.json")


def run(data: bytes) -> str:
    cache = TraceCache(folder() / "traces")
    cache.folder.mkdir(exist_ok=True)
    found = []
    for content in (data, _signed(data)):
        (cache.folder / f"{KEY}.trace").write_bytes(content)
        (cache.folder / f"{KEY}.points").write_bytes(content)
        found += [cache.trace(KEY), *cache.points(KEY)]
    return READ if any(found) else REFUSED


def _signed(body: bytes) -> bytes:
    return _head(KEY, "trace", body).encode() + b"\n" + body
