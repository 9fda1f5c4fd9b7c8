#!/bin/sh
# Plimsoll.app, by the same spec as everywhere, and a disk image of it: sh packaging/macos/make_dmg.sh
# UNTESTED: written without a Mac at hand. Signing and notarising are not part of it.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-.venv/bin/python}
version=$("$python" packaging/release.py)
"$python" packaging/make_icons.py
"$python" -m PyInstaller --noconfirm --distpath build/bundle --workpath build/pyinstaller packaging/plimsoll.spec
stage=build/dmg
rm -rf "$stage"
mkdir -p "$stage" dist
cp -R build/bundle/Plimsoll.app "$stage/"
ln -s /Applications "$stage/Applications"
hdiutil create -volname Plimsoll -srcfolder "$stage" -format UDZO -ov "dist/Plimsoll-$version.dmg"
