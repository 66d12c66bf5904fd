"""Render pages: templates that extend `base.html` and need no other files."""

from typing import Any

from jinja2 import Environment, PackageLoader

TEMPLATES = Environment(
    loader=PackageLoader("augnet", ""), autoescape=True, trim_blocks=True, lstrip_blocks=True
)


def render(template: str, **values: Any) -> str:
    """Render a template, such as `app/page.html`."""
    return TEMPLATES.get_template(template).render(**values)
