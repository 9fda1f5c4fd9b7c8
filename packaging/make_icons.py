"""Draws the icon in every size that desktops ask for, from planner_app/data/icon.svg: `make icons`.

PNG files where Linux looks for them, plimsoll.ico for Windows, plimsoll.icns for macOS.
"""

import os
import struct
import sys
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from PySide6.QtCore import QBuffer, QIODevice, QRectF, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "planner_app" / "data" / "icon.svg"
SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
ICO_SIZES = (16, 24, 32, 48, 64, 128, 256)
# What Apple calls each size; "@2x" is the same drawing for a screen of twice as many points.
ICNS_TYPES = {b"icp4": 16, b"icp5": 32, b"icp6": 64, b"ic07": 128, b"ic08": 256, b"ic09": 512, b"ic10": 1024,
              b"ic11": 32, b"ic12": 64, b"ic13": 256, b"ic14": 512}  # fmt: skip


def png(renderer: QSvgRenderer, size: int) -> bytes:
    image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    renderer.render(painter, QRectF(0, 0, size, size))
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    return bytes(buffer.data().data())


def ico(pictures: dict[int, bytes]) -> bytes:
    """A header, an entry of 16 bytes for each picture, the pictures. A size of 256 is written as 0."""
    entries, place = b"", 6 + 16 * len(pictures)
    for size, data in pictures.items():
        entries += struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(data), place)
        place += len(data)
    return struct.pack("<HHH", 0, 1, len(pictures)) + entries + b"".join(pictures.values())


def icns(pictures: dict[bytes, bytes]) -> bytes:
    """Blocks, each with its type and its length, the eight bytes of both counted."""
    blocks = b"".join(kind + struct.pack(">I", len(data) + 8) + data for kind, data in pictures.items())
    return b"icns" + struct.pack(">I", len(blocks) + 8) + blocks


def make(folder: Path) -> None:
    renderer = QSvgRenderer(str(SOURCE))
    if not renderer.isValid():
        raise SystemExit(f"{SOURCE} can't be drawn.")
    for size in SIZES:
        place = folder / "hicolor" / f"{size}x{size}" / "apps"
        place.mkdir(parents=True, exist_ok=True)
        (place / "plimsoll.png").write_bytes(png(renderer, size))
    scalable = folder / "hicolor" / "scalable" / "apps"
    scalable.mkdir(parents=True, exist_ok=True)
    (scalable / "plimsoll.svg").write_bytes(SOURCE.read_bytes())
    (folder / "plimsoll.ico").write_bytes(ico({size: png(renderer, size) for size in ICO_SIZES}))
    (folder / "plimsoll.icns").write_bytes(icns({kind: png(renderer, size) for kind, size in ICNS_TYPES.items()}))


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "icons"
    make(target)
    print(f"Wrote {target}: {len(SIZES)} sizes, plimsoll.ico, plimsoll.icns.")
