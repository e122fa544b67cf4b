"""The Jinja environment: autoescape everywhere, undefined names are errors, no loader but our own folder."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from review_ui import links, text, words
from review_ui.reader import LANGUAGES, reader

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
        extensions=["jinja2.ext.i18n"],
        auto_reload=False,  # a page includes some thirty files, and looking at each for a change takes its time
    )
    made.policies["ext.i18n.trimmed"] = True
    # newstyle: placeholders are filled in after escaping, and a message is markup that we wrote ourselves
    made.install_gettext_callables(words._, words.ngettext, newstyle=True)  # type: ignore[attr-defined]
    made.filters.update(
        visible=text.visible,
        prose=text.prose,
        plain=text.plain,
        folded=text.folded,
        when=text.when,
        day=text.day,
        figure=text.figure,
    )
    made.globals.update(links=links, languages=LANGUAGES, reader=reader, asset=asset)
    return made


@cache
def asset(name: str) -> str:
    """The address of a static file. It changes with the file's content, so that browsers may keep it for long."""
    stamp = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?{stamp}"
