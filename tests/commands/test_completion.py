"""`plimsoll completion`: what real shells offer, and how TAB completes a line."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from shells import Terminal

from planner_app.cli import COMMANDS, main, parser
from planner_app.commands.help.reference.values import read

SHELLS = ("bash", "zsh", "fish")
PROGRAM = {"bash": ["bash", "--norc", "-i"], "zsh": ["zsh", "-f", "-i"]}
PLIMSOLL = "plimsoll() { printf '<%s>' \"$@\"; }\n"  # stands for the command: shows the words it was given
ASK_BASH = """
source completion.bash
COMP_WORDS=(plimsoll "$@"); COMP_CWORD=$#
_plimsoll
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture) -> Path:
    """What a user may have, and the scripts."""
    for name in ("resnet.keras", "notes.txt", "resnet.plan.json"):
        (tmp_path / name).touch()
    (tmp_path / "saved").mkdir()
    for shell in SHELLS:
        assert main(["completion", shell]) == 0
        (tmp_path / f"completion.{shell}").write_text(capsys.readouterr().out)
    return tmp_path


def offered(folder: Path, *words: str) -> set[str]:
    """By bash, for the last of these words."""
    told = subprocess.run(
        ["bash", "--norc", "-c", ASK_BASH, "bash", *words], cwd=folder, capture_output=True, text=True, check=True
    )
    assert not told.stderr
    return set(filter(None, told.stdout.splitlines()))


def test_that_bash_offers_commands_and_models_first(folder: Path):
    assert offered(folder, "max") == {"max-batch", "max-input"}
    assert offered(folder, "") == {*COMMANDS, "resnet.keras", "resnet.plan.json", "saved"}
    assert offered(folder, "--") == {"--help", "--version", "--picture"}


def test_that_bash_offers_every_option_of_every_command(folder: Path):
    for command in read():
        flags = {flag for option in command.options for flag in option.flags}
        assert offered(folder, command.name, "-") == flags


def test_that_bash_offers_what_an_option_takes(folder: Path):
    assert offered(folder, "estimate", "--precision", "mixed") == {"mixed_float16", "mixed_bfloat16"}
    assert offered(folder, "estimate", "--precision", "=", "b") == {"bfloat16"}
    assert offered(folder, "estimate", "--optimizer", "adamw") == {"adamw"}
    assert offered(folder, "sweep", "--precisions", "float32,float6") == {"float32,float64"}
    assert offered(folder, "estimate", "--batch", "") == set()
    assert offered(folder, "max-batch", "resnet.keras", "--measured", "res") == {"resnet.keras", "resnet.plan.json"}
    assert offered(folder, "shop", "resnet.keras", "--measured", "res") == {"resnet.plan.json"}


def test_that_bash_finds_devices_with_and_without_the_maker_s_name(folder: Path):
    l4 = {"NVIDIA L4", "NVIDIA L40", "NVIDIA L40S"}
    for typed in ("NVIDIA L4", '"NVIDIA L4', "'NVIDIA L4", "NVIDIA\\ L4", "nvidia l4"):
        assert offered(folder, "estimate", "--device", typed) == l4
    assert offered(folder, "estimate", "--device", "l4") == {"L4", "L40", "L40S"}
    assert offered(folder, "sweep", "--devices", "NVIDIA T4,l4") == {"NVIDIA T4,L4", "NVIDIA T4,L40", "NVIDIA T4,L40S"}


@pytest.fixture(params=PROGRAM)
def terminal(request: pytest.FixtureRequest, folder: Path) -> Iterator[Terminal]:
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    terminal = Terminal(PROGRAM[shell], folder)
    if shell == "zsh":
        terminal.run("autoload -Uz compinit && compinit -u -D; unsetopt menu_complete")
    (folder / "plimsoll").write_text(PLIMSOLL)
    terminal.run("source ./plimsoll")
    terminal.run(f"source ./completion.{shell}")
    yield terminal
    terminal.close()


def test_that_tab_completes_a_line_up_to_a_device_with_spaces_in_its_name(terminal: Terminal):
    """Typed as far as it is clear, the rest by TAB; what the command then gets is what counts."""
    terminal.type("plimsoll estim\tresnet.k\t--precis\tmixed_b\t--device NVIDIA\\ L40S\t\r")
    terminal.until("<estimate><resnet.keras><--precision><mixed_bfloat16><--device><NVIDIA L40S>")


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_that_fish_offers_options_with_their_help(folder: Path):
    def asked(line: str) -> dict[str, str]:
        ask = ["fish", "--no-config", "-c", "source completion.fish; complete -C $argv[1]", line]
        told = subprocess.run(ask, cwd=folder, capture_output=True, text=True, check=True)
        return dict(line.partition("\t")[::2] for line in told.stdout.splitlines())

    assert asked("plimsoll max") == {
        "max-batch": "find the largest batch that fits",
        "max-input": "find the largest input that fits",
    }
    assert asked("plimsoll estimate --unc") == {
        "--uncalibrated": "the plain estimate, without calibration by measurements"
    }
    assert set(asked("plimsoll sweep --devices 'NVIDIA T4,NVIDIA L4")) == {
        f"NVIDIA T4,NVIDIA {name}" for name in ("L4", "L40", "L40S")
    }


def test_that_an_unknown_shell_is_wrong_usage(capsys: pytest.CaptureFixture):
    with pytest.raises(SystemExit) as left:
        parser().parse_args(["completion", "csh"])
    assert left.value.code == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err
