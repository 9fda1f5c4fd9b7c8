"""What a Linux desktop wants to know of the app, laid out below a prefix: menu entry, store page, file types, icons.

python packaging/linux_files.py build/linux/usr
"""

import shutil
import subprocess
import sys
from pathlib import Path

from release import ROOT, this_release

HERE = Path(__file__).parent
ID = "local.plimsoll.plimsoll"


def install(prefix: Path) -> None:
    share = prefix / "share"
    _write(share / "applications" / "plimsoll.desktop", (HERE / "linux" / "plimsoll.desktop").read_text())
    _write(share / "mime" / "packages" / "plimsoll.xml", (HERE / "linux" / "mime.xml").read_text())
    _write(share / "metainfo" / f"{ID}.metainfo.xml", metainfo())
    icons = ROOT / "build" / "icons"
    subprocess.run([sys.executable, str(HERE / "make_icons.py"), str(icons)], check=True, stdout=subprocess.DEVNULL)
    shutil.copytree(icons / "hicolor", share / "icons" / "hicolor", dirs_exist_ok=True)


def metainfo() -> str:
    release = this_release()
    text = (HERE / "linux" / "metainfo.xml.in").read_text(encoding="utf-8")
    kind = "stable" if release.released else "development"
    for name, value in (("VERSION", release.version), ("DATE", release.date), ("TYPE", kind)):
        text = text.replace(f"@{name}@", value)
    return text


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    install(Path(sys.argv[1]))
    print(f"Wrote {sys.argv[1]}.")
