"""What the doctor says, as rich text."""

from planner_app.core.doctor import Diagnosis, Kind
from planner_app.gui.look.paper import facts, heading, numbered, paragraph, points
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.breakdown.values import setup_text
from planner_app.gui.panels.doctor.values import Beside, DoctorValues, doubt, figures, others, remedies, side_by_side

INVITATION = (
    "A training ran out of memory? Paste the end of its log on the left, open it, or drop the file here.",
    "Logs of TensorFlow 1.15 to 2.22, of any length. With the model open, the estimate stands beside it.",
)


def verdict_text(values: DoctorValues, theme: Theme) -> str:
    found = values.found
    if found is None:
        return paragraph(INVITATION[0]) + paragraph(INVITATION[1], theme.muted)
    parts = [paragraph(found.verdict, _colour(found, theme), bold=True)]
    if found.why:
        parts.append(paragraph(" ".join(found.why), gap=2))
    if values.beside is not None:
        parts.append(_beside(found, values.beside, values.stale, theme))
    if found.remedies:
        parts += [heading("What to do", theme), points(remedies(found))]
    if rows := figures(found):
        parts += [heading("In figures", theme), facts(rows, theme)]
    if found.notes:
        parts += [heading("Also in this log", theme), points(note.text for note in found.notes)]
    if found.others:
        parts += [heading("More failures in this log", theme), points(others(found))]
    return "".join(parts)


def evidence_text(values: DoctorValues, theme: Theme) -> str:
    found = values.found
    if found is None:
        return ""
    lines = {each.line: each.text for each in found.evidence}
    beside = {each.line: each.text for note in found.notes for each in note.evidence[:1] if each.line not in lines}
    parts = []
    if lines:
        parts += [heading("The lines that show it", theme), numbered(lines.items(), theme)]
    if beside:
        parts += [heading("Also noted", theme), numbered(sorted(beside.items()), theme)]
    return "".join(parts) or paragraph("No line of this log speaks of memory.", theme.muted)


def _colour(found: Diagnosis, theme: Theme) -> str:
    if found.kind.failed:
        return theme.bad
    return theme.muted if found.kind is Kind.NONE else theme.good


def _beside(found: Diagnosis, beside: Beside, stale: bool, theme: Theme) -> str:
    setup = beside.setup
    title = f"Beside the model: {setup_text(setup)}, {setup.optimizer}, XLA {setup.jit}"
    parts = [heading(title, theme)]
    if stale:
        parts.append(paragraph("Another setup has been chosen since.", theme.warn, gap=2))
    if sentence := doubt(found):
        parts.append(paragraph(sentence, theme.warn, gap=2))
    if beside.trouble:
        parts.append(paragraph(beside.trouble, theme.bad))
    if rows := side_by_side(found, beside):
        parts.append(facts(rows, theme, ("", "the log", "the estimate")))
    if beside.compared is not None:
        parts.append(paragraph(" ".join(beside.compared.said)))
    return "".join(parts)
