"""The words of the pages in the reader's language. What a night, an agent or a person wrote is never translated.

Catalogues are read as they are kept (``locale/*/LC_MESSAGES/pages.po``): there is no build step. ``make words`` renews
them from the sources.
"""

from __future__ import annotations

import gettext as std
import io
from functools import cache
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from review_ui.reader import reader

LOCALE = Path(__file__).parent / "locale"
FOLDERS = {"zh-Hans": "zh_Hans"}
"""Language tag to folder of its catalogue. English is in the sources."""

BABEL = {"en": "en", "zh-Hans": "zh_Hans"}
"""Language tag to the locale that dates and numbers are written in."""


def catalogue_file(language: str) -> Path:
    """Where a language's catalogue is kept."""
    return LOCALE / FOLDERS[language] / "LC_MESSAGES" / "pages.po"


@cache
def catalogue(language: str) -> std.NullTranslations:
    """A language's catalogue, read once a process."""
    if language not in FOLDERS:
        return std.NullTranslations()
    with catalogue_file(language).open("rb") as file:
        kept = read_po(file, locale=BABEL[language])
    compiled = io.BytesIO()
    write_mo(compiled, kept)
    compiled.seek(0)
    return std.GNUTranslations(compiled)


def _(message: str) -> str:
    """A message in the reader's language. Placeholders are ``{named}`` in Python, ``%(named)s`` in templates."""
    return catalogue(reader().language).gettext(message) if message else ""


def ngettext(one: str, many: str, count: int) -> str:
    """A message that counts something."""
    return catalogue(reader().language).ngettext(one, many, count)


def N_(message: str) -> str:
    """Marks a message that is translated where it is shown: a constant is made before anybody reads."""
    return message
