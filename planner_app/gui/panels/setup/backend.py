"""Fields of the setup panel for Keras' backend, and on JAX for the mesh of GPUs and where variables lie on it."""

from dataclasses import dataclass

from PySide6.QtCore import QObject, QSignalBlocker, Signal
from PySide6.QtWidgets import QLabel, QWidget

from planner_app.core.model.setup import Backend
from planner_app.core.sharding.layout import Layout, LayoutName
from planner_app.core.sharding.mesh import ONE_GPU, parse_mesh
from planner_app.files.layouts import NAMES
from planner_app.gui.panels.setup.fields import combo, edit, line_of
from planner_app.gui.state.choice import Choice

LABELS = {backend.label: backend for backend in Backend}
LAYOUTS = (
    "Where variables lie on the mesh: data (all on every GPU), auto (rules made for the model), own (the model's "
    "get_layout_map), fsdp (shared out over all GPUs), or a file of rules"
)


@dataclass(frozen=True, slots=True)
class BackendValues:
    backend: Backend = Backend.TENSORFLOW
    mesh: str = str(ONE_GPU)
    layout: str = str(LayoutName.DATA)


ON_TENSORFLOW = BackendValues()


class BackendFields(QObject):
    """Mesh and layout are shown for JAX alone."""

    backend_changed = Signal(Backend)
    mesh_changed = Signal(str)
    layout_changed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._values = BackendValues()
        self.backend = combo("Backend of Keras; on JAX weights can be shared out over GPUs", list(LABELS))
        self.mesh = edit("GPUs on JAX: shares of the batch and of the model, as in 2x4", "2x4")
        self.layout = combo(LAYOUTS, list(NAMES), editable=True)
        self.rows: tuple[tuple[QLabel, QWidget], ...] = (
            (QLabel("Bac&kend"), self.backend), (QLabel("Mesh"), self.mesh), (QLabel("La&yout"), self.layout),
        )  # fmt: skip
        for label, field in self.rows:
            label.setBuddy(field)
        self.backend.activated.connect(lambda: self.backend_changed.emit(LABELS[self.backend.currentText()]))
        self.mesh.editingFinished.connect(self._tell_mesh)
        self.layout.activated.connect(self._tell_layout)
        line_of(self.layout).editingFinished.connect(self._tell_layout)
        self.show_values(self._values)

    def show_values(self, values: BackendValues) -> None:
        self._values = values
        blockers = [QSignalBlocker(field) for field in (self.backend, self.layout)]
        self.backend.setCurrentText(values.backend.label)
        self.mesh.setText(values.mesh)
        self.layout.setCurrentText(values.layout)
        del blockers
        for label, field in self.rows[1:]:
            label.setVisible(values.backend is Backend.JAX)
            field.setVisible(values.backend is Backend.JAX)

    def _tell_mesh(self) -> None:
        if self.mesh.text() != self._values.mesh:
            self.mesh_changed.emit(self.mesh.text())

    def _tell_layout(self) -> None:
        if self.layout.currentText() != self._values.layout:
            self.layout_changed.emit(self.layout.currentText().strip())


def with_mesh(choice: Choice, text: str) -> Choice:
    """A mesh that cuts weights needs a layout that does."""
    mesh, layout = parse_mesh(text), choice.setup.layout
    if mesh.model > 1 and layout.name is LayoutName.DATA:
        layout = Layout(LayoutName.AUTO)
    return choice.with_setup(mesh=mesh, layout=layout)
