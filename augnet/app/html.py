"""One look for all pages: templates that extend `base.html` and need nothing beside them."""

from typing import Any

from jinja2 import Environment, PackageLoader

TEMPLATES = Environment(
    loader=PackageLoader("augnet", ""), autoescape=True, trim_blocks=True, lstrip_blocks=True
)


def render(template: str, **values: Any) -> str:
    """Fill a template, `report/page.html` for instance."""
    return TEMPLATES.get_template(template).render(**values)
