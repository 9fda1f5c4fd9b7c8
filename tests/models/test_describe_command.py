"""`plimsoll describe` as a user runs it: a real process, a real child, one sentence when something is wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hostile import bytecode, dense, input_layer, keras_file, layer, sequential
from scripts import HERE, ROOT

CUSTOM = HERE / "custom_classes.py"


def plimsoll(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "planner_app", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        check=False,
    )


def test_that_a_model_is_shown_as_a_table_with_totals(saved, counts):
    done = plimsoll("describe", saved / "functional.keras")
    assert (done.returncode, done.stderr) == (0, "")
    assert "small_cnn  Functional, Keras file written by Keras 3" in done.stdout
    assert "batch × 16 × 16 × 8" in done.stdout  # noqa: RUF001
    assert f"{counts['functional.keras']:,} parameters: " in done.stdout
    assert "optimizer SGD (learning_rate 0.1, momentum 0.9), loss categorical_crossentropy" in done.stdout


def test_that_json_is_for_programs(saved, counts):
    done = plimsoll("describe", "--json", saved / "functional.h5")
    answer = json.loads(done.stdout)
    assert answer["params"] == counts["functional.h5"]
    assert {"layers", "inputs", "outputs", "trainable_params", "weight_bytes", "sha256", "warnings"} <= answer.keys()


def test_that_a_narrow_terminal_still_shows_everything_that_counts(saved, counts):
    done = plimsoll("describe", saved / "functional.keras", COLUMNS="50")
    assert max(map(len, done.stdout.splitlines())) <= 50
    assert "classes" in done.stdout


def test_that_custom_classes_come_from_the_file_the_user_names(saved, counts):
    done = plimsoll("describe", "--json", "--custom", CUSTOM, saved / "custom_model.keras")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["params"] == counts["custom_model.keras"]


def test_that_a_function_in_a_python_file_makes_the_model(tmp_path):
    done = plimsoll("describe", "--json", f"{CUSTOM.name}:build_tower", cwd=CUSTOM.parent)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["format"], answer["class_name"]) == ("python", "Tower")
    assert "is run" in answer["warnings"][0]


def test_that_a_relative_path_with_spaces_quotes_and_accents_is_fine(saved):
    done = plimsoll("describe", "name with 'quotes' é.keras", cwd=saved)
    assert done.returncode == 0, done.stderr


def test_that_the_demo_model_of_the_package_is_described():
    done = plimsoll("describe", "--json", ROOT / "planner_app" / "data" / "demo.keras")
    assert json.loads(done.stdout)["params"] == 78_426


def test_that_the_command_line_never_imports_tensorflow_or_keras(saved):
    code = (
        "import sys; from planner_app.cli import main; code = main(sys.argv[1:]); "
        "loaded = {name.split('.')[0] for name in sys.modules}; "
        "sys.exit(code or 10 * bool(loaded & {'tensorflow', 'keras', 'h5py', 'tf_keras'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "describe", str(saved / "functional.keras")],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def bad(folder: Path, name: str) -> Path:
    """One bad input of each kind that people really have, or that somebody made on purpose."""
    path = folder / f"{name}.keras"
    match name:
        case "not a zip":
            path.write_bytes(b"hello" * 100)
        case "truncated":
            whole = keras_file(path, sequential(dense())).read_bytes()
            path.write_bytes(whole[: len(whole) // 2])
        case "no json":
            keras_file(path, "{ not json")
        case "deep":
            keras_file(path, "[" * 100_000)
        case "unknown class":
            keras_file(path, sequential(layer("Mixer", module=None, name="mixer")))
        case "lambda":
            keras_file(path, sequential(layer("Lambda", name="trick", function=bytecode())))
        case "negative":
            keras_file(path, sequential(dense(units=-3)))
        case "absurd":
            config = sequential(dense())
            config["config"]["layers"][0] = input_layer([None, 10**15])
            keras_file(path, config)
        case "folder":
            path.mkdir()
        case "refused by keras":
            keras_file(path, sequential(dense(activation="no_such_activation")))
        case "gone":
            pass
    return path


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("not a zip", "none of the kinds of file"),
        ("truncated", "damaged or cut short"),
        ("no json", "not valid JSON"),
        ("deep", "nested deeper"),
        ("unknown class", "'Mixer' (layer 'mixer')"),
        ("lambda", "'trick' is a Lambda"),
        ("negative", "units = -3"),
        ("absurd", "batch_shape"),
        ("folder", "no SavedModel"),
        ("refused by keras", "no_such_activation"),
        ("gone", "no such file"),
    ],
)
def test_that_bad_input_gets_one_sentence_and_exit_code_1(tmp_path, name, said):
    done = plimsoll("describe", bad(tmp_path, name))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("plimsoll: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything; the reader's own test gives root up")
def test_that_a_file_without_read_permission_is_refused(tmp_path):
    path = keras_file(tmp_path / "secret.keras", sequential(dense()))
    path.chmod(0)
    done = plimsoll("describe", path)
    assert done.returncode == 1
    assert "'secret.keras' can't be opened: it may not be read" in done.stderr


def test_that_wrong_usage_has_exit_code_2():
    assert plimsoll("describe").returncode == 2
    assert plimsoll("fly").returncode == 2


def test_that_the_app_without_a_screen_is_a_sentence(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    done = plimsoll()
    assert done.returncode == 1
    assert "The app needs a screen" in done.stderr


def test_that_the_version_is_printed():
    assert plimsoll("--version").stdout.startswith("plimsoll 0.")


def test_that_a_bug_is_reported_in_one_place_with_what_to_do(monkeypatch, capsys):
    from planner_app import cli
    from planner_app.commands.ask import describe

    def broken(*_):
        raise KeyError("surprise")

    monkeypatch.setattr(describe, "open_model", broken)
    assert cli.main(["describe", "x.keras"]) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "bug in plimsoll" in told
    assert cli.main(["describe", "--debug", "x.keras"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_that_no_text_in_a_model_file_steers_the_terminal(tmp_path, options):
    steering = "\x1b[2J\x9b31m\u202e"
    config = sequential(dense()) | {"compile_config": {"optimizer": f"adam{steering}", "loss": f"mse{steering}"}}
    done = plimsoll("describe", *options, keras_file(tmp_path / "model.keras", config))
    assert done.returncode == 0
    assert "adam" in done.stdout
    assert not set(done.stdout) & set(steering.replace("[2J", "").replace("31m", ""))
