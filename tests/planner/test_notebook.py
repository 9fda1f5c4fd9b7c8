"""The example notebook, run as it stands: a saved model, a live one, a chart and a plan."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "plimsoll.ipynb"
SECONDS = 600


def test_that_the_example_notebook_runs_and_shows_its_answers(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [
        output["data"]["text/html"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "execute_result"
    ]
    estimate, largest, sweep, live, plan = shown
    assert "Fits" in estimate and "fits up to" in largest.lower()
    assert sweep.count("<polyline") == 2
    assert "Gate" in live and "AdamW" in live
    assert "a batch of 4,096" in plan and (tmp_path / "demo.plan.json").exists()
