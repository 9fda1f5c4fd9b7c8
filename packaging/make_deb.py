"""A Debian package of the bundle: `make deb`. Needs dpkg-deb, and no root."""

import platform
import shutil
import subprocess
import sys
from pathlib import Path

from linux_files import install
from release import ROOT, this_release

BUNDLE = ROOT / "build" / "bundle" / "plimsoll"
# What Qt's library for X11 wants of the system; Wayland's is in the bundle.
DEPENDS = (
    "libegl1", "libgl1", "libfontconfig1", "libfreetype6", "libdbus-1-3", "libxkbcommon0", "libxkbcommon-x11-0",
    "libxcb-cursor0", "libxcb-icccm4", "libxcb-image0", "libxcb-keysyms1", "libxcb-render-util0", "libxcb-shape0",
    "libxcb-xinerama0",
)  # fmt: skip
CONTROL = """\
Package: plimsoll
Version: {version}
Architecture: {architecture}
Maintainer: The Plimsoll authors <plimsoll@localhost>
Installed-Size: {kilobytes}
Depends: libc6 (>= {libc}), {depends}
Recommends: python3-venv
Section: science
Priority: optional
Description: how much Keras training a GPU can carry
 The load line for GPUs: memory of a Keras model's training over the batch,
 for every precision and number of GPUs, against the capacity of devices.
 .
 TensorFlow is not part of this package: Plimsoll uses a Python that has it,
 and says what to install where there is none.
"""


def make(target: Path) -> Path:
    version = this_release().version
    architecture = subprocess.run(
        ["dpkg", "--print-architecture"], check=True, capture_output=True, text=True
    ).stdout.strip()
    root = ROOT / "build" / "deb"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(BUNDLE, root / "usr" / "lib" / "plimsoll", symlinks=True)
    (root / "usr" / "bin").mkdir()
    (root / "usr" / "bin" / "plimsoll").symlink_to("../lib/plimsoll/plimsoll")
    install(root / "usr")
    notes = root / "usr" / "share" / "doc" / "plimsoll"
    notes.mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", notes / "copyright")
    size = sum(file.stat().st_size for file in root.rglob("*") if file.is_file() and not file.is_symlink())
    control = root / "DEBIAN" / "control"
    control.parent.mkdir()
    control.write_text(
        CONTROL.format(
            version=version,
            architecture=architecture,
            kilobytes=size // 1024,
            libc=platform.libc_ver()[1],
            depends=", ".join(DEPENDS),
        )
    )
    file = target / f"plimsoll_{version}_{architecture}.deb"
    target.mkdir(parents=True, exist_ok=True)
    subprocess.run(["chmod", "-R", "go=u,go-w", str(root)], check=True)
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", "-Zgzip", "-z6", str(root), str(file)], check=True)
    return file


if __name__ == "__main__":
    if not BUNDLE.is_dir():
        raise SystemExit(f"{BUNDLE} is not there: make bundle.")
    print(f"Wrote {make(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / 'dist')}.")
