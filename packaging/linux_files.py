"""What Linux wants to know of the app, laid out below a prefix: menu entry, store page, file types, icons, manual.

python packaging/linux_files.py build/linux/usr
"""

import gzip
import shutil
import sys
from pathlib import Path

import make_icons
from release import ROOT, this_release

sys.path.insert(0, str(ROOT))
from planner_app.commands.help.completion import script

HERE = Path(__file__).parent
ID = "local.plimsoll.plimsoll"
COMPLETIONS = {
    "bash": "bash-completion/completions/plimsoll",
    "zsh": "zsh/vendor-completions/_plimsoll",
    "fish": "fish/vendor_completions.d/plimsoll.fish",
}


def install(prefix: Path) -> None:
    share = prefix / "share"
    _write(share / "applications" / "plimsoll.desktop", (HERE / "linux" / "plimsoll.desktop").read_text())
    _write(share / "mime" / "packages" / "plimsoll.xml", (HERE / "linux" / "mime.xml").read_text())
    _write(share / "metainfo" / f"{ID}.metainfo.xml", metainfo())
    manual = share / "man" / "man1" / "plimsoll.1.gz"
    manual.parent.mkdir(parents=True, exist_ok=True)
    manual.write_bytes(gzip.compress((HERE / "plimsoll.1").read_bytes(), mtime=0))
    for shell, place in COMPLETIONS.items():
        _write(share / place, script(shell))
    icons = ROOT / "build" / "icons"
    make_icons.make(icons)
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
