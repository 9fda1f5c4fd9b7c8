"""How tabs look."""

from PySide6.QtWidgets import QProxyStyle, QStyle, QStyleOption, QWidget

Metric = QStyle.PixelMetric


class TabStyle(QProxyStyle):
    """Qt lowers the text of tabs that lie behind, and then cuts off what hangs below the line."""

    def __init__(self) -> None:
        super().__init__("Fusion")

    def pixelMetric(self, metric: Metric, option: QStyleOption | None = None, widget: QWidget | None = None) -> int:
        return 0 if metric is Metric.PM_TabBarTabShiftVertical else super().pixelMetric(metric, option, widget)
