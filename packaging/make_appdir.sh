#!/bin/sh
# An AppDir of the bundle, and an AppImage of that where appimagetool is installed: sh packaging/make_appdir.sh
# The AppDir is tested by `make bundle-test`; turning it into an AppImage is untested: appimagetool was not at hand.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
target=build/Plimsoll.AppDir
test -d build/bundle/plimsoll || { echo "build/bundle/plimsoll is not there: make bundle." >&2; exit 1; }
rm -rf "$target"
mkdir -p "$target/usr/lib" "$target/usr/bin"
cp -a build/bundle/plimsoll "$target/usr/lib/"
ln -s ../lib/plimsoll/plimsoll "$target/usr/bin/plimsoll"
"$python" packaging/linux_files.py "$target/usr" >/dev/null
cp "$target/usr/share/applications/plimsoll.desktop" "$target/"
cp "$target/usr/share/icons/hicolor/256x256/apps/plimsoll.png" "$target/"
ln -s plimsoll.png "$target/.DirIcon"
cat > "$target/AppRun" <<'RUN'
#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/usr/lib/plimsoll/plimsoll" "$@"
RUN
chmod +x "$target/AppRun"
if command -v appimagetool >/dev/null; then
	mkdir -p dist
	appimagetool "$target" "dist/Plimsoll-$("$python" packaging/release.py)-$(uname -m).AppImage"
else
	echo "Wrote $target. With appimagetool installed it would be an AppImage in dist/."
fi
