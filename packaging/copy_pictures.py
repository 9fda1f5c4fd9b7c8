"""The pictures of README and guide: chosen from those that the tests draw into build/pictures, and made small.

The same picture gives the same file: no dates, no chance. None of measurements, which differ every time.
"""

import sys
from collections import Counter
from pathlib import Path

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QImage

ROOT = Path(__file__).parents[1]
DRAWN = ROOT / "build" / "pictures"
GUIDE = ROOT / "planner_app" / "data" / "guide" / "pictures"
COLOURS = 256  # a byte for each pixel
MOST_BYTES = 150_000

# Where each goes; guide pages name them so.
CHOSEN = {
    "app_light_1280x800": ROOT / "assets" / "app.png",
    "empty_light": GUIDE / "empty.png",
    "chart_light": GUIDE / "chart.png",
    "breakdown_light": GUIDE / "breakdown.png",
    "timeline_light": GUIDE / "timeline.png",
    "layers_treemap_light": GUIDE / "layers.png",
    "devices_light": GUIDE / "devices.png",
    "largest_light": GUIDE / "largest.png",
    "hardware_light": GUIDE / "hardware.png",
    "advice_light": GUIDE / "advice.png",
    "plan_light": GUIDE / "plan.png",
    "doctor_light": GUIDE / "doctor.png",
    "checkup_light": GUIDE / "checkup.png",
}

PARTS = {"empty_light": QRect(240, 250, 800, 170)}  # the rest is empty


def small(picture: QImage) -> QImage:
    """In its own most frequent colours; the others become the nearest of them."""
    opaque = picture.convertToFormat(QImage.Format.Format_RGB32)
    seen = Counter(memoryview(opaque.constBits()).cast("I"))
    table = [colour for colour, _ in sorted(seen.items(), key=lambda pair: (-pair[1], pair[0]))[:COLOURS]]
    return opaque.convertToFormat(QImage.Format.Format_Indexed8, table, Qt.ImageConversionFlag.AvoidDither)


def main() -> int:
    GUIDE.mkdir(parents=True, exist_ok=True)
    for name, target in CHOSEN.items():
        picture = QImage(str(DRAWN / f"{name}.png"))
        if name in PARTS:
            picture = picture.copy(PARTS[name])
        if picture.isNull():
            print(f"{name}.png is not in {DRAWN}: draw it first, with make pictures.", file=sys.stderr)
            return 1
        if not small(picture).save(str(target), "PNG", 0):  # 0: the smallest file
            print(f"{target} can't be written.", file=sys.stderr)
            return 1
        size = target.stat().st_size
        print(f"{target.relative_to(ROOT)}  {picture.width()} x {picture.height()}, {size // 1000} kB")
        if size > MOST_BYTES:
            print(f"{target.name} has {size} bytes, more than {MOST_BYTES}.", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
