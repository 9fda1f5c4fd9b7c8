"""From a question to an answer: the headline, the log page, and what is assumed."""

from dataclasses import replace
from pathlib import Path

from PySide6.QtGui import QGuiApplication, QPalette
from small_files import write_model
from stage import Stage, play, turn

from planner_app.core.estimate.verdict import Verdict
from planner_app.core.model.setup import Precision
from planner_app.gui.app import DEMO
from planner_app.gui.panels.chart.presenter import ChartPresenter
from planner_app.gui.panels.plan.view import PlanView
from planner_app.gui.panels.setup.view import SetupView

BATCH = 60_000
WHERE = "/job:localhost/replica:0/task:0/device:GPU:0"
LOG = f"""I0000 gpu_device.cc:2020] Created device {WHERE} with 20900 MB memory:  -> device: 0, name: NVIDIA L4, \
pci bus id: 0000:00:03.0, compute capability: 8.9
Epoch 1/5
W0000 bfc_allocator.cc:502] Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.66GiB (rounded to 3932160000)\
requested by op demo_resnet_1/block1_conv2_1/convolution
I0000 bfc_allocator.cc:1117] Sum Total of in-use chunks: 20.10GiB
I0000 bfc_allocator.cc:1128] Stats:
Limit:                     21915238400
InUse:                     21582195916
MaxInUse:                  21582195916
W0000 op_kernel.cc:1858] OP_REQUIRES failed at conv_ops_impl.h:1 : RESOURCE_EXHAUSTED: OOM when allocating tensor with \
shape[{BATCH},32,32,16] and type float on {WHERE} by allocator GPU_0_bfc
"""


def a_pasted_log_leads_to_a_plan(stage: Stage, _folder: Path) -> None:
    """Three clicks: open the model, take the cheapest change, make a plan."""
    app, session = stage.app, stage.app.session
    session.choose(lambda choice: replace(choice, precisions=(Precision.FLOAT32,), gpu_counts=(1,)))  # fewer traces
    QGuiApplication.clipboard().setText(LOG)
    stage.keys("ctrl+v")
    stage.until(lambda: app.log.values.found is not None, "the log is read")
    page = app.centre.log
    stage.until(lambda: page.isVisible() and page.title.text() == app.log.values.found.verdict, "its page is shown")
    assert "What to do" in page.verdict.toPlainText() and page.model.isVisible()
    stage.picture("log_page")
    clicks = [page.model]
    stage.name_file(str(DEMO))
    stage.click(clicks[-1])
    stage.until(lambda: session.opened is not None, "the model is open")
    stage.until(lambda: session.failed_run is not None, "the setup that failed is chosen")
    assert (session.choice.setup.batch, session.choice.device.name) == (BATCH, "NVIDIA L4")

    stage.until(lambda: app.panels, "the chart is there")

    def is_marked() -> bool:
        return [(mark.batch, mark.failed) for mark in _chart_marks(stage) if mark.source == "log"] == [(BATCH, True)]

    stage.until(is_marked, "it is marked on the chart")
    headline = app.centre.model.findChild(type(app.headline.parent()))
    stage.until(lambda: app.headline.values.verdict is not None, "there is a verdict")
    assert app.headline.values.verdict is Verdict.DOES_NOT_FIT, app.headline.values.sentence
    stage.picture("log_in_chart")
    stage.until(lambda: headline.cards and headline.cards[0].step.setup is not None, "changes are offered")
    clicks.append(headline.cards[0])
    stage.click(lambda: headline.cards[0])
    stage.until(lambda: app.headline.values.verdict in (Verdict.FITS, Verdict.TIGHT), "it fits")
    stage.until(lambda: any(card.step.text == "Make a plan" for card in headline.cards), "a plan is offered")
    clicks.append(headline.cards[0])
    stage.click(lambda: next(card for card in headline.cards if card.step.text == "Make a plan"))
    panel = app.panels["Plan"].widget
    assert isinstance(panel, PlanView)
    stage.until(lambda: panel.isVisible() and panel.ladder.rowCount() > 0, "there is a plan that fits")
    assert len(clicks) == 3
    stage.picture("log_plan")


def the_headline_says_why(stage: Stage, _folder: Path) -> None:
    """Two GPUs may hold less than one: the reason stands beside the verdict; a change is applied by its button."""
    app, session = stage.app, stage.app.session
    stage.drop(stage.window, files=(DEMO,))
    stage.until_traced()
    headline, setup = app.headline, app.panels["Setup"].widget
    assert isinstance(setup, SetupView)
    stage.until(lambda: headline.values.word == "Fits" and headline.values.reason == "", "one GPU needs no reason")
    stage.click(setup.gpus.lineEdit())
    stage.fill(setup.gpus.lineEdit(), "2")
    stage.keys("Return")
    stage.until(lambda: session.choice.setup.gpus == 2 and headline.values.reason, "two GPUs are chosen")
    assert headline.values.reason.startswith("XLA is off: Keras turns it off on several GPUs.")
    view = app.centre.model.findChild(type(headline.parent()))
    assert view.reason.isVisible() and headline.values.reason.startswith(view.reason.text())
    stage.picture("headline_reason")
    stage.until(lambda: any(card.step.setup is not None for card in view.cards), "a change is offered")
    before = session.choice.setup
    stage.click(lambda: next(card for card in view.cards if card.step.setup is not None))
    stage.until(lambda: session.choice.setup.batch > before.batch, "it is applied")
    stage.keys("ctrl+z")
    stage.until(lambda: session.choice.setup == before, "it is undone")


def what_is_assumed_is_said(stage: Stage, folder: Path) -> None:
    """A model saved without a loss: what is assumed stands in the colour of warnings, and can be changed."""
    app, session = stage.app, stage.app.session
    stage.drop(stage.window, files=(write_model(folder / "no_loss.json"),))
    stage.until_traced()
    setup = app.panels["Setup"].widget
    assert isinstance(setup, SetupView)
    assert setup.assumed.isVisible() and "mean squared error" in setup.assumed.text()
    colour = setup.assumed.palette().color(QPalette.ColorRole.WindowText).name()
    assert colour == app.appearance.theme.warn != app.appearance.theme.muted
    stage.picture("assumed_loss")
    setup.ensureWidgetVisible(setup.sparse)
    turn(60)
    stage.click(setup.sparse)
    sparse = "sparse_categorical_crossentropy"
    stage.until(lambda: session.choice.setup.loss == sparse and not setup.assumed.isVisible(), "it is chosen")
    setup.ensureWidgetVisible(setup.own)
    turn(60)
    stage.click(setup.own)
    stage.until(lambda: session.choice.setup.loss == "" and setup.assumed.isVisible(), "it is the file's own again")


def _chart_marks(stage: Stage):
    view = stage.app.panels["Chart"].widget
    return next(child.picture.marks for child in view.children() if isinstance(child, ChartPresenter))


SCENES = {
    scene.__name__: scene for scene in (a_pasted_log_leads_to_a_plan, the_headline_says_why, what_is_assumed_is_said)
}

if __name__ == "__main__":
    play(SCENES)
