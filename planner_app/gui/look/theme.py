"""Every colour of the app: tokens of one theme, light or dark. Widgets take them from the palette, charts from here."""

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from planner_app.core.estimate.breakdown import Term
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.model.setup import Precision


class Look(StrEnum):
    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True)
class Theme:
    """Attributes: `surface` is the background of charts and tables, `window` what surrounds them."""

    name: str
    window: str
    surface: str
    raised: str
    text: str
    muted: str
    grid: str
    accent: str
    on_accent: str
    good: str
    warn: str
    bad: str
    precisions: tuple[str, ...]
    terms: tuple[str, ...]

    def precision(self, precision: Precision) -> str:
        return self.precisions[list(Precision).index(precision)]

    def verdict(self, verdict: Verdict | None) -> str:
        """The plain text colour if there is no verdict."""
        colours = {Verdict.FITS: self.good, Verdict.TIGHT: self.warn, Verdict.DOES_NOT_FIT: self.bad}
        return self.text if verdict is None else colours[verdict]

    def term(self, term: Term) -> str:
        return self.terms[list(Term).index(term)]


# Hues of lines differ for every kind of colour blindness (tests/gui/test_theme.py).
# Terms in the order they are stacked in.
LIGHT = Theme(
    name="light",
    window="#eef1f4",
    surface="#ffffff",
    raised="#f7f9fb",
    text="#17202a",
    muted="#5d6875",
    grid="#d5dbe1",
    accent="#0a62b5",
    on_accent="#ffffff",
    good="#1a7f4b",
    warn="#a86400",
    bad="#c0332b",
    precisions=("#0072b2", "#c24000", "#8e2270", "#ab9300", "#00a05a", "#44189b"),
    terms=(
        "#34568b", "#d1495b", "#7c5cbf", "#2f9c95", "#edae49", "#6b8f71", "#b7b7a4", "#c97b84", "#8d99ae", "#c3cad2",
        "#9c6b3f", "#5f7a1f",
    ),
)  # fmt: skip
DARK = Theme(
    name="dark",
    window="#252b33",
    surface="#191e24",
    raised="#2f3740",
    text="#e7ebef",
    muted="#9aa5b1",
    grid="#414b56",
    accent="#4ea1ef",
    on_accent="#0b1016",
    good="#4cc38a",
    warn="#f0b14a",
    bad="#f2766e",
    precisions=("#56b4e9", "#ea7535", "#e39aac", "#d9dc3c", "#3fe09a", "#8f86ff"),
    terms=(
        "#6f94d2", "#ea7585", "#a78ae6", "#4fc7bf", "#f2c46d", "#93bb99", "#d4d4bf", "#e3a1a9", "#aab6ca", "#59636e",
        "#c99a6b", "#a9c95e",
    ),
)  # fmt: skip


def palette_of(theme: Theme) -> QPalette:
    role, disabled = QPalette.ColorRole, QPalette.ColorGroup.Disabled
    palette = QPalette()
    for colour, roles in (  # two of them may be the same colour
        (theme.window, (role.Window,)),
        (theme.surface, (role.Base,)),
        (theme.raised, (role.AlternateBase, role.Button, role.ToolTipBase)),
        (theme.text, (role.WindowText, role.Text, role.ButtonText, role.ToolTipText, role.BrightText)),
        (theme.muted, (role.PlaceholderText,)),
        (theme.accent, (role.Highlight, role.Link, role.Accent)),
        (theme.on_accent, (role.HighlightedText,)),
        (theme.grid, (role.Mid, role.Midlight, role.Light)),
    ):
        for each in roles:
            palette.setColor(each, QColor(colour))
    for each in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(disabled, each, QColor(theme.muted))
    return palette


class Appearance(QObject):
    """The active theme: the user's choice, or the system's by default."""

    changed = Signal()

    def __init__(self, app: QApplication, look: Look = Look.SYSTEM) -> None:
        super().__init__()
        self._app, self.look = app, look
        app.setStyle("Fusion")
        app.styleHints().colorSchemeChanged.connect(self._on_scheme_changed)
        self.theme = self._resolved()
        app.setPalette(palette_of(self.theme))

    def choose(self, look: Look) -> None:
        self.look = look
        self._apply()

    def _on_scheme_changed(self) -> None:
        self._apply()

    def _resolved(self) -> Theme:
        if self.look is Look.SYSTEM:
            return DARK if self._app.styleHints().colorScheme() is Qt.ColorScheme.Dark else LIGHT
        return DARK if self.look is Look.DARK else LIGHT

    def _apply(self) -> None:
        theme = self._resolved()
        if theme is not self.theme:
            self.theme = theme
            self._app.setPalette(palette_of(theme))
            self.changed.emit()
