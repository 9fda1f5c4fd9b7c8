"""The window's centre: a notice, a tab for each open model and log, and the page of the current one."""

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QStackedWidget, QTabBar, QVBoxLayout, QWidget

from planner_app.foreign_text import for_line
from planner_app.gui.look.plain_label import plain_tip
from planner_app.gui.look.short import short
from planner_app.gui.look.tabs import TabStyle
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.centre.first_page import FirstPage
from planner_app.gui.panels.centre.notice import Notice
from planner_app.gui.panels.centre.waiting_page import WaitingPage

MOST_LETTERS = 40  # of a name on a tab


class ModelPage(QWidget):
    """The headline above the chart. The chart comes later than the page."""

    def __init__(self, headline: QWidget) -> None:
        super().__init__()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(headline)
        self._column.addStretch(1)
        self.has_chart = False

    def add_chart(self, chart: QWidget) -> None:
        self._column.takeAt(1)
        self._column.addWidget(chart, 1)
        self.has_chart = True


class CentreView(QWidget):
    tab_chosen = Signal(int)
    tab_closed = Signal(int)

    def __init__(self, headline: QWidget, log: QWidget, theme: Theme) -> None:
        super().__init__()
        self.notice, self.tabs, self.stack = Notice(theme), QTabBar(), QStackedWidget()
        self.first, self.waiting, self.model, self.log = FirstPage(theme), WaitingPage(theme), ModelPage(headline), log
        for page in (self.first, self.waiting, self.model, self.log):
            self.stack.addWidget(page)
        self.tabs.setAccessibleName("Open models and logs")
        self._tab_style = TabStyle()
        self.tabs.setStyle(self._tab_style)
        self.tabs.setDocumentMode(True)
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setTabsClosable(True)
        self.tabs.setUsesScrollButtons(True)
        self.tabs.currentChanged.connect(self.tab_chosen)
        self.tabs.tabCloseRequested.connect(self.tab_closed)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for widget in (self.notice, self.tabs):
            column.addWidget(widget)
        column.addWidget(self.stack, 1)
        self.show_tabs((), -1)

    def show_tabs(self, names: tuple[str, ...], current: int) -> None:
        """A single one needs no tab."""
        with QSignalBlocker(self.tabs):
            while self.tabs.count() > len(names):
                self.tabs.removeTab(self.tabs.count() - 1)
            for number, name in enumerate(names):
                shown = short(for_line(name), MOST_LETTERS).replace("&", "&&")
                if number < self.tabs.count():
                    self.tabs.setTabText(number, shown)
                else:
                    self.tabs.addTab(shown)
                self.tabs.setTabToolTip(number, plain_tip(name))
            self.tabs.setCurrentIndex(current)
        self.tabs.setVisible(len(names) > 1)

    def show_page(self, page: QWidget) -> None:
        self.stack.setCurrentWidget(page)

    def set_theme(self, theme: Theme) -> None:
        self.first.set_theme(theme)
        self.waiting.set_theme(theme)
        self.notice.set_theme(theme)
