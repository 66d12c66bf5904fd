"""Write the page of an audit: findings, response curves, worst samples."""

import torch

import augnet
from augnet.app import audit_figures, audit_wording, wording
from augnet.app.audit_settings import AuditSettings
from augnet.app.html import render
from augnet.app.matrix import matrix
from augnet.app.style import Drawn
from augnet.audit import Audited, AuditResult
from augnet.data import Collection, InputSpec
from augnet.text import printable


def page(result: AuditResult, settings: AuditSettings, samples: Collection, spec: InputSpec) -> str:
    """Return the page as HTML that needs no other file."""
    values = result.values
    return render(
        "app/audit.html",
        title=printable(settings.model.rstrip("/").rpartition("/")[2]),
        data=printable(settings.common.data.rstrip("/").rpartition("/")[2]),
        values=values,
        wording=audit_wording,
        spec=spec,
        does={row.name: wording.does(row.labels) for row in result},
        matrix=matrix([(row.name, row.labels, row.by_class) for row in result]),
        drawn=[each for row in result for each in _figures(row, spec)],
        notes=list(samples.log),
        command=settings.command,
        versions={"augnet": augnet.__version__, "torch": torch.__version__},
    )


def _figures(row: Audited, spec: InputSpec) -> list[Drawn]:
    name, finding = row.name, row.finding.capitalize()
    caption = f"{finding}: {row.reason or audit_wording.MEANINGS[row.finding]}. "
    if len(row.curve) > 2:
        caption += "The band has a confidence of 90 %; the range that labels allow is shaded."
    drawn = [Drawn(f"response-{name}", name, caption, audit_figures.response(row))]
    figure = audit_figures.worst(row, spec)
    if figure is not None:
        said = "; ".join(
            f"{each.label}: predicted {each.before}, then {each.after}" for each in row.worst
        )
        title = f"{name}: samples that it loses" if row.finding == "fragile" else f"{name}: ignored"
        drawn.append(Drawn(f"worst-{name}", title, f"From top to bottom: {said}.", figure))
    return drawn
