import gc
import threading
import weakref

from PySide6.QtWidgets import QApplication, QWidget
from waiting import wait

from planner_app.gui.background.garbage import Garbage


def test_that_a_widget_in_a_cycle_is_freed_in_the_gui_s_thread(qapp: QApplication):
    died_in: list[threading.Thread] = []

    def litter() -> None:
        for _ in range(200_000):
            cycle: list[object] = []
            cycle.append(cycle)

    widget = QWidget()
    widget.myself = widget  # type: ignore[attr-defined]
    weakref.finalize(widget, lambda: died_in.append(threading.current_thread()))
    garbage = Garbage()
    del widget
    other = threading.Thread(target=litter)
    other.start()
    other.join()
    assert died_in == []
    wait(lambda: bool(died_in), seconds=30)
    assert died_in == [threading.main_thread()]
    garbage.close()
    gc.disable()  # as the other tests have it
