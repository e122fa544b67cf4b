"""The Jinja environment: autoescape everywhere, undefined names are errors, no loader but our own folder."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from review_ui import links, text

HERE = Path(__file__).parent
STATIC = HERE / "static"


@cache
def make_templates() -> Environment:
    """The environment, whose filters make hostile text visible; one a process, since it holds compiled templates."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        visible=text.visible,
        prose=text.prose,
        plain=text.plain,
        folded=text.folded,
        when=text.when,
        day=text.day,
        figure=text.figure,
    )
    made.globals.update(links=links, stylesheet=f"/static/slowwave.css?{_stamp(STATIC / 'slowwave.css')}")
    return made


def _stamp(path: Path) -> str:
    """A stylesheet's address changes with its content, so that browsers may keep it for long."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
