"""The guide: the list of pages on the left, the current page on the right."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QSignalBlocker, Qt, QTimer, QUrl
from PySide6.QtGui import QImage, QKeySequence, QPalette, QResizeEvent, QTextDocument
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QPushButton,
    QSplitter,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from planner_app.gui.panels.help.pages import KEYS, Page
from planner_app.gui.panels.help.polish import polish

SIZE = (1180, 780)
LIST_WIDTH = 210
MARGIN = 18
REST_MS = 150  # don't lay out the page at every step of a resize
UNKNOWN = QTextDocument.ResourceType.UnknownResource


class Browser(QTextBrowser):
    """Shows only pages of the package: nothing is fetched, and external links open in a browser."""

    def __init__(self, keys: Callable[[], str]) -> None:
        super().__init__()
        self._keys = keys
        self._rest = QTimer(self, singleShot=True)
        self._rest.timeout.connect(self.draw_again)
        self.setAccessibleName("Page of the guide")
        self.setOpenExternalLinks(True)
        self.setVerticalScrollBarPolicy(
            Qt.ScrollBarPolicy.ScrollBarAlwaysOn
        )  # so that the width does not depend on the page
        self.document().setDocumentMargin(MARGIN)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._rest.start(REST_MS)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._rest.start(0)  # a page keeps the colours it was laid out with

    def draw_again(self) -> None:
        """Redraw for another width or other colours, at the same position."""
        at = self.verticalScrollBar().value()
        self.reload()
        self.verticalScrollBar().setValue(at)

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Limits pictures to the page width, and generates the page of keys."""
        url = QUrl(name)
        if url.fileName() == f"{KEYS}.md":
            return self._keys()
        path = Path(self.source().resolved(url).toLocalFile())
        if kind == QTextDocument.ResourceType.ImageResource.value and path.is_file():
            return self._fitting(QImage(str(path)))
        return super().loadResource(kind, name)

    def doSetSource(self, name: QUrl | str, kind: QTextDocument.ResourceType = UNKNOWN) -> None:
        super().doSetSource(name, kind)
        role, palette = QPalette.ColorRole, self.palette()
        polish(self.document(), palette.color(role.AlternateBase), palette.color(role.Mid))

    def _fitting(self, picture: QImage) -> QImage:
        ratio = self.devicePixelRatioF()
        room = int((self.viewport().width() - 2 * MARGIN) * ratio)
        if picture.width() > room > 0:
            picture = picture.scaledToWidth(room, Qt.TransformationMode.SmoothTransformation)
            picture.setDevicePixelRatio(ratio)
        return picture


class GuideWindow(QWidget):
    def __init__(self, parent: QWidget | None, pages: Sequence[Page], keys: Callable[[], str]) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setWindowTitle("Guide")
        self.resize(*SIZE)
        self._pages = pages
        self.list, self.browser = QListWidget(), Browser(keys)
        self.list.setAccessibleName("Pages")
        self.list.addItems([page.title for page in pages])
        self.list.setSpacing(3)
        self.back, self.forward = QPushButton("&Back"), QPushButton("&Forward")
        self.search = QLineEdit(placeholderText="Find on this page", clearButtonEnabled=True)
        self.close_button = QPushButton("&Close")
        self.close_button.setShortcut(QKeySequence("Esc"))
        self._arrange()
        self._connect()

    def show_page(self, name: str) -> None:
        page = next(page for page in self._pages if page.name == name)
        self.browser.setSource(QUrl.fromLocalFile(str(page.path)), QTextDocument.ResourceType.MarkdownResource)

    @property
    def page(self) -> str:
        return Path(self.browser.source().path()).stem

    def _arrange(self) -> None:
        split = QSplitter()
        split.addWidget(self.list)
        split.addWidget(self.browser)
        split.setSizes([LIST_WIDTH, SIZE[0] - LIST_WIDTH])
        split.setStretchFactor(1, 1)
        row = QHBoxLayout()
        for button in (self.back, self.forward):
            button.setEnabled(False)
            row.addWidget(button)
        row.addWidget(self.search, 1)
        row.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.addWidget(split, 1)
        column.addLayout(row)

    def _connect(self) -> None:
        self.list.currentRowChanged.connect(self._on_row_changed)
        self.browser.sourceChanged.connect(self._on_source_changed)
        self.browser.backwardAvailable.connect(self.back.setEnabled)
        self.browser.forwardAvailable.connect(self.forward.setEnabled)
        self.back.clicked.connect(self.browser.backward)
        self.forward.clicked.connect(self.browser.forward)
        self.search.returnPressed.connect(self._on_find)
        self.close_button.clicked.connect(self.close)

    def _on_row_changed(self, row: int) -> None:
        self.show_page(self._pages[row].name)

    def _on_source_changed(self, source: QUrl) -> None:
        names, shown = [page.name for page in self._pages], Path(source.path()).stem
        if shown in names:
            with QSignalBlocker(self.list):  # the list follows and must not trigger
                self.list.setCurrentRow(names.index(shown))

    def _on_find(self) -> None:
        """The next match, wrapping around at the end."""
        if not self.browser.find(self.search.text()):
            self.browser.moveCursor(self.browser.textCursor().MoveOperation.Start)
            self.browser.find(self.search.text())
