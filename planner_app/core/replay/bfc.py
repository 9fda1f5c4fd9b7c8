"""TensorFlow's best-fit-with-coalescing allocator (xla/tsl/framework/bfc_allocator.cc), byte for byte.

It hands out chunks, not bytes: requests are rounded to 256, a free chunk less than twice the request (and less than
128 MiB larger) is handed out whole, and memory is taken from the device in regions that double.
"""

from bisect import bisect_left, insort

ROUNDING = 256  # kMinAllocationSize
BINS = 21  # kNumBins: 256 B, 512 B ... 256 MiB and more
LARGEST_SLACK = 128 << 20  # a chunk with this much to spare is split, however small the ratio
FIRST_REGION = 2 << 20  # with memory growth; without it the first region is the whole limit


def rounded(request_bytes: int) -> int:
    return max(ROUNDING, -(-request_bytes // ROUNDING) * ROUNDING)


class Allocator:
    """One device's allocator. Regions are never joined: no chunk spans two of them.

    Attributes:
        reach_bytes: Up to where in the pool chunks were handed out: in one region, how large it must be.
    """

    def __init__(self, limit_bytes: int, growth: bool = True) -> None:
        self.limit_bytes = limit_bytes
        self.in_use_bytes = self.peak_bytes = self.pool_bytes = self.reach_bytes = 0
        self._next_region = min(limit_bytes, FIRST_REGION) if growth else limit_bytes
        self._size: list[int] = []
        self._address: list[int] = []
        self._before: list[int] = []
        self._after: list[int] = []
        self._free: list[bool] = []
        self._spare: list[int] = []
        self._bins: list[list[tuple[int, int, int]]] = [[] for _ in range(BINS)]

    def allocate(self, request_bytes: int) -> int:
        """The number of the chunk that serves the request, or -1 when memory runs out."""
        size = rounded(request_bytes)
        chunk = self._find(size)
        if chunk < 0:
            if not self._extend(size):
                return -1
            chunk = self._find(size)
        self.in_use_bytes += self._size[chunk]
        if self.in_use_bytes > self.peak_bytes:
            self.peak_bytes = self.in_use_bytes
        end = self._address[chunk] + self._size[chunk]
        if end > self.reach_bytes:
            self.reach_bytes = end
        return chunk

    def free(self, chunk: int) -> None:
        self.in_use_bytes -= self._size[chunk]
        after = self._after[chunk]
        if after >= 0 and self._free[after]:
            self._drop(after)
            self._join(chunk, after)
        before = self._before[chunk]
        if before >= 0 and self._free[before]:
            self._drop(before)
            self._join(before, chunk)
            chunk = before
        self._keep(chunk)

    def chunk_bytes(self, chunk: int) -> int:
        return self._size[chunk]

    def _find(self, size: int) -> int:
        first = min((size // ROUNDING).bit_length() - 1, BINS - 1)
        for number in range(first, BINS):
            free = self._bins[number]
            if not free:
                continue
            place = bisect_left(free, (size,))
            if place == len(free):
                continue
            found, _, chunk = free.pop(place)
            self._free[chunk] = False
            if found >= 2 * size or found - size >= LARGEST_SLACK:
                self._split(chunk, size)
            return chunk
        return -1

    def _split(self, chunk: int, size: int) -> None:
        rest = self._new(self._address[chunk] + size, self._size[chunk] - size)
        after = self._after[chunk]
        self._size[chunk] = size
        self._before[rest], self._after[rest], self._after[chunk] = chunk, after, rest
        if after >= 0:
            self._before[after] = rest
        self._keep(rest)

    def _join(self, first: int, second: int) -> None:
        after = self._after[second]
        self._size[first] += self._size[second]
        self._after[first] = after
        if after >= 0:
            self._before[after] = first
        self._spare.append(second)

    def _new(self, address: int, size: int) -> int:
        if self._spare:
            chunk = self._spare.pop()
            self._address[chunk], self._size[chunk] = address, size
            self._before[chunk] = self._after[chunk] = -1
            return chunk
        self._size.append(size)
        self._address.append(address)
        self._before.append(-1)
        self._after.append(-1)
        self._free.append(False)
        return len(self._size) - 1

    def _keep(self, chunk: int) -> None:
        size = self._size[chunk]
        self._free[chunk] = True
        insort(self._bins[min((size // ROUNDING).bit_length() - 1, BINS - 1)], (size, self._address[chunk], chunk))

    def _drop(self, chunk: int) -> None:
        size = self._size[chunk]
        free = self._bins[min((size // ROUNDING).bit_length() - 1, BINS - 1)]
        free.pop(bisect_left(free, (size, self._address[chunk], chunk)))
        self._free[chunk] = False

    def _extend(self, size: int) -> bool:
        available = (self.limit_bytes - self.pool_bytes) // ROUNDING * ROUNDING
        if size > available:
            return False
        enlarged = False
        while size > self._next_region:
            self._next_region *= 2
            enlarged = True
        region = min(self._next_region, available)
        if not enlarged:
            self._next_region *= 2
        chunk = self._new(self.pool_bytes, region)
        self.pool_bytes += region
        self._keep(chunk)
        return True
