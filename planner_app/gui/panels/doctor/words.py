"""The diagnosis as rich text."""

from planner_app.core.doctor import Diagnosis, Kind
from planner_app.core.doctor.story import LINES, NOTED, Section, story
from planner_app.core.model.setup import OWN
from planner_app.gui.look.paper import facts, numbered, paragraph, points, title
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.breakdown.values import setup_text
from planner_app.gui.panels.doctor.values import Beside, DoctorValues, doubt, remedies, side_by_side

INVITATION = (
    "What ran out of memory?",
    "Paste the end of the training's log, open it, or drop its file here. Logs of TensorFlow, JAX, notebooks and job "
    "systems, of any length.",
)
FACTS = ("Who held the memory", "In figures")  # beside the lines that show it


def invitation() -> tuple[str, str]:
    return INVITATION


def verdict_text(values: DoctorValues, theme: Theme) -> str:
    """Behind the verdict: why, the estimate beside it, and what to do."""
    found = values.found
    if found is None:
        return ""
    sections = [
        section for section in story(found, remedies(values, found)) if section.title not in (LINES, NOTED, *FACTS)
    ]
    parts = [_section(section, theme) for section in sections if not section.title]
    if values.beside is not None:
        parts.append(_beside(found, values.beside, values.stale, theme))
    parts += [_section(section, theme) for section in sections if section.title]
    return "".join(parts)


def _section(section: Section, theme: Theme) -> str:
    parts = [title(section.title)] if section.title else []
    if section.sentences:
        parts.append(paragraph(" ".join(section.sentences), gap=2))
    if section.points:
        parts.append(points(section.points))
    if section.rows:
        parts.append(facts(section.rows, theme))
    return "".join(parts)


def evidence_text(values: DoctorValues, theme: Theme) -> str:
    found = values.found
    if found is None:
        return ""
    sections = story(found)
    parts = [_section(section, theme) for section in sections if section.title in FACTS]
    for section in sections:
        if section.lines:
            parts += [
                title(section.title),
                numbered(((each.place or each.line, each.text) for each in section.lines), theme),
            ]
    return "".join(parts) or paragraph("No line of this log mentions memory.", theme.muted)


def colour_of(found: Diagnosis, theme: Theme) -> str:
    if found.kind.failed:
        return theme.bad
    return theme.good if found.kind is Kind.HARMLESS else theme.muted


def _beside(found: Diagnosis, beside: Beside, stale: bool, theme: Theme) -> str:
    setup = beside.setup
    optimizer = "the model's own optimizer" if setup.optimizer == OWN else str(setup.optimizer)
    parts = [title(f"Compared with the model: {setup_text(setup)}, {optimizer}, XLA {setup.jit}")]
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
