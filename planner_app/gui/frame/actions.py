"""Everything that menus and keys can do."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint
from PySide6.QtGui import QAction, QActionGroup, QContextMenuEvent, QKeySequence
from PySide6.QtWidgets import QFileDialog, QGraphicsView, QMenu, QMessageBox

from planner_app import __version__
from planner_app.foreign_text import for_file_name
from planner_app.gui.captions import caption_of
from planner_app.gui.frame.panel import Panel
from planner_app.gui.look import export
from planner_app.gui.look.theme import Look
from planner_app.gui.panels.help.presenter import HelpPresenter
from planner_app.gui.panels.palette.presenter import PalettePresenter
from planner_app.gui.panels.tools.presenter import ToolsPresenter

if TYPE_CHECKING:
    from planner_app.gui.app import App

Standard = QKeySequence.StandardKey
ABOUT = (
    f"<h3>Plimsoll {__version__}</h3>Estimates how much GPU memory training a Keras model needs.<p>"
    "A separate process reads and checks the model file without executing anything in it. The training step is traced "
    "without running it, and its allocations are replayed through TensorFlow's allocator."
)


class RightClicks(QObject):
    """Opens the context menu of the widgets it is installed on."""

    def __init__(self, call: Callable[[QPoint], object], parent: QObject) -> None:
        super().__init__(parent)
        self._call = call

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QContextMenuEvent):
            self._call(event.globalPos())
            return True
        return super().eventFilter(watched, event)


class Actions:
    def __init__(self, app: App) -> None:
        self._app, session = app, app.session
        self._recent, self._exported = QMenu("Open &Recent"), QMenu("&Export the focused panel")
        self._context = QMenu()
        self._themes, self.toggles = QMenu("&Theme"), QMenu("&Panels")
        self.open = self._action("&Open …", lambda: app.opener.ask_for_file(), Standard.Open)
        self.folder = self._action("Open a SavedModel &folder …", lambda: app.opener.ask_for_folder(), "Ctrl+Shift+O")
        self.with_code = self._action("Open with your &code …", lambda: app.opener.ask_with_code(), "Ctrl+Alt+O")
        self.log = self._action("Read an out-of-memory &log", app.show_log, "Ctrl+L")
        self.paste = self._action("&Paste a log or file", app.paste, Standard.Paste)
        self.close_tab = self._action("Close ta&b", app.close_tab, Standard.Close)
        self.demo = self._action("Open the &demo model", app.open_demo)
        self.reload = self._action("Re&load", app.reload, "F5")
        self.cancel = self._action("Ca&ncel", session.cancel, "Esc")
        self.python = self._action("Python with &TensorFlow …", app.ask_for_python)
        self.close = self._action("&Quit", lambda: app.window.close(), Standard.Quit)
        self.png = self._action("Picture as &PNG …", lambda: self._save("png"), "Ctrl+Shift+E")
        self.svg = self._action("Picture as &SVG …", lambda: self._save("svg"), "Ctrl+Alt+E")
        self.pdf = self._action("Picture as P&DF …", lambda: self._save("pdf"))
        self.report = self._action("Report of everything (&HTML) …", self._save_report, "Ctrl+Shift+R")
        self.csv = self._action("Numbers as &CSV …", lambda: self._save("csv"), "Ctrl+Shift+S")
        self.copy_picture = self._action("Copy p&icture", self._copy_picture, "Ctrl+Shift+C")
        self.copy_numbers = self._action("Copy &numbers", self._copy_numbers, "Ctrl+Alt+C")
        self.undo = self._action("&Undo", session.undo, Standard.Undo)
        self.redo = self._action("&Redo", session.redo, Standard.Redo)
        self.find = self._action("&Find …", app.find, Standard.Find)
        self.palette = PalettePresenter(app)
        self.commands = self._action("&Commands …", self.palette.open, "Ctrl+K")
        self.alone = self._action("&Maximise the focused panel", self._toggle_alone, "Shift+F11")
        self.full = self._action("&Full screen", self._toggle_full_screen, "F11")
        self.tools, self.help = ToolsPresenter(app), HelpPresenter(app)
        self.selftest = self._action("&Self-test of a device …", self.tools.show_selftest)
        self.run = self._action("&Results of a run …", self.tools.ask_for_run)
        self.calibrations = self._action("&Calibrations …", self.tools.show_calibrations)
        self.guide = self._action("&Guide", self.help.show_guide, Standard.HelpContents)
        self.keys = self._action("&Keyboard shortcuts", self.help.show_keys)
        self.checkup = self._action("&Check this computer …", self.help.check_computer)
        self.about = self._action("&About Plimsoll", self._about)
        session.choice_changed.connect(self._on_choice_changed)
        session.model_changed.connect(self._on_choice_changed)
        self.show_recent(app.settings.recent)
        self._on_choice_changed()

    def menus(self) -> Mapping[str, Sequence[QAction | QMenu | None]]:
        self._exported.addActions([self.png, self.svg, self.pdf, self.csv])
        return {
            "&File": [
                *(
                    self.open,
                    self.folder,
                    self.with_code,
                    self._recent,
                    self.demo,
                    None,
                    self.reload,
                    self.cancel,
                    self.close_tab,
                    None,
                    self._exported,
                    self.report,
                ),
                *(None, self.python, None, self.close),
            ],
            "&Edit": [
                *(self.undo, self.redo, None, self.find, None),
                *(self.paste, self.copy_picture, self.copy_numbers),
            ],
            "&View": [self.commands, None, self.toggles, self._looks(), self.alone, self.full],
            "&Tools": [self.log, self.run, None, self.selftest, self.calibrations],
            "&Help": [self.guide, self.keys, None, self.checkup, None, self.about],
        }

    def offer_export(self, panel: Panel) -> None:
        """A right click on a panel offers to save or copy what it shows."""
        widget = panel.widget
        clicks = RightClicks(lambda at: self._export_menu(panel).popup(at), widget)
        widget.installEventFilter(clicks)
        for plot in widget.findChildren(QGraphicsView):  # they would swallow the click
            plot.viewport().installEventFilter(clicks)

    def _export_menu(self, panel: Panel) -> QMenu:
        self._context.clear()
        if panel.picture is not None:
            self._entry("Save as PNG …", lambda: self._save("png", panel))
            self._entry("Save as SVG …", lambda: self._save("svg", panel))
            self._entry("Save as PDF …", lambda: self._save("pdf", panel))
            self._entry("Copy picture", lambda: self._copy_picture(panel))
        if panel.table is not None:
            self._entry("Save numbers as CSV …", lambda: self._save("csv", panel))
            self._entry("Copy numbers", lambda: self._copy_numbers(panel))
        return self._context

    def _entry(self, text: str, call: Callable[[], object]) -> None:
        self._context.addAction(text).triggered.connect(lambda: self._app.attempt(call))

    def show_recent(self, paths: Sequence[str]) -> None:
        self._recent.clear()
        home = os.path.expanduser("~")  # noqa: PTH111 - an account may have no home
        for number, path in enumerate(paths, 1):
            shown = path.replace(home, "~", 1) if path.startswith(home) else path
            action = self._recent.addAction(f"&{number}  {shown}")
            action.setShortcut(QKeySequence(f"Ctrl+{number}"))
            action.triggered.connect(lambda _=False, path=path: self._app.open(path))
        self._recent.setEnabled(bool(paths))

    def _action(self, text: str, call: Callable[[], object], keys: QKeySequence.StandardKey | str = "") -> QAction:
        action = QAction(text, self._app)
        action.setShortcut(QKeySequence(keys))
        action.triggered.connect(lambda: self._app.attempt(call))
        return action

    def _looks(self) -> QMenu:
        menu, group = self._themes, QActionGroup(self._app)
        for look, text in ((Look.SYSTEM, "Follow the &system"), (Look.LIGHT, "&Light"), (Look.DARK, "&Dark")):
            action = menu.addAction(text)
            action.setCheckable(True)
            action.setChecked(look is self._app.appearance.look)
            action.triggered.connect(lambda _=False, look=look: self._app.appearance.choose(look))
            group.addAction(action)
        return menu

    def _on_choice_changed(self) -> None:
        session = self._app.session
        self.undo.setEnabled(session.can_undo)
        self.redo.setEnabled(session.can_redo)
        self.reload.setEnabled(bool(session.path))

    def _save(self, kind: str, panel: Panel | None = None) -> None:
        panel = panel or self._app.panel_in_focus()
        data = export.data_of(panel, kind, caption_of(self._app.session))
        stem = for_file_name(Path(self._app.session.path or "plimsoll").stem)
        suggested = f"{stem} {panel.title.lower()}.{kind}"
        path, _ = QFileDialog.getSaveFileName(self._app.window, f"Save {panel.title}", suggested, f"*.{kind}")
        if path:
            export.save(path if Path(path).suffix else f"{path}.{kind}", data)

    def _save_report(self) -> None:
        app = self._app
        suggested = f"{for_file_name(Path(app.session.path or 'plimsoll').stem)} report.html"
        path, _ = QFileDialog.getSaveFileName(app.window, "Save a report of everything", suggested, "*.html")
        if path:
            app.save_report(path if Path(path).suffix else f"{path}.html")

    def _copy_picture(self, panel: Panel | None = None) -> None:
        panel = panel or self._app.panel_in_focus()
        if panel.picture is not None:
            export.copy_picture(panel, caption_of(self._app.session))

    def _copy_numbers(self, panel: Panel | None = None) -> None:
        if (table := (panel or self._app.panel_in_focus()).table) is not None:
            export.copy_table(table())

    def _toggle_alone(self) -> None:
        panel = self._app.panel_in_focus()
        self._app.window.toggle_alone(panel.title)
        panel.widget.setFocus()

    def _toggle_full_screen(self) -> None:
        window = self._app.window
        window.showNormal() if window.isFullScreen() else window.showFullScreen()

    def _about(self) -> None:
        QMessageBox.about(self._app.window, "About Plimsoll", ABOUT)
