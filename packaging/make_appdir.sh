#!/bin/sh
# An AppDir of the bundle, which runs from wherever it lies: sh packaging/make_appdir.sh
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
echo "Wrote $target."
