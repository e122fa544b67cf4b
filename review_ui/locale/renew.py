"""Renews the catalogues from the sources: ``make words``. With ``--check`` it only says what is not as it should be."""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po
from jinja2.ext import babel_extract

from review_ui.words import BABEL, FOLDERS, catalogue_file

PAGES = Path(__file__).resolve().parent.parent
KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2), "N_": None}
TEMPLATES = {
    "trimmed": "true",
    "newstyle_gettext": "true",
    "silent": "false",
    "trim_blocks": "true",
    "lstrip_blocks": "true",
}
PLACEHOLDER = re.compile(r"%\([a-z_]+\)s|\{[a-z0-9_]+(?::[^}]*)?\}|</?[a-z][^>]*>")
"""What a translation may not lose: values, and markup."""
WIDTH = 110


def messages() -> Catalog:
    """Every message of the sources, without a translation."""
    found = Catalog()
    for path in sorted(PAGES.rglob("*.py")) + sorted((PAGES / "templates").glob("*.html")):
        for text, context in _messages_of(path):
            found.add(text, context=context)
    return found


def _messages_of(path: Path) -> Iterator[tuple[str | tuple[str, ...], str | None]]:
    method: Any = "python" if path.suffix == ".py" else babel_extract
    options = {} if path.suffix == ".py" else TEMPLATES
    with path.open("rb") as file:
        for _line, text, _comments, context in extract(method, file, KEYWORDS, options=options):
            yield text, context


def kept(language: str) -> Catalog:
    """A language's catalogue as it is."""
    with catalogue_file(language).open("rb") as file:
        return read_po(file, locale=BABEL[language], abort_invalid=True)


def renewed(language: str) -> Catalog:
    """The sources' messages with the translations that there are; what the sources no longer say is gone."""
    made, old = Catalog(locale=BABEL[language]), kept(language)
    for message in messages():
        if message.id:
            known = old.get(message.id[0] if message.pluralizable else message.id)
            fits = known is not None and known.pluralizable == message.pluralizable
            made.add(message.id, known.string if known is not None and fits else None)
    return made


def written(language: str) -> str:
    """A renewed catalogue as it is kept: sorted, without places in the sources, under the head that it has."""
    body = io.BytesIO()
    write_po(body, renewed(language), no_location=True, omit_header=True, sort_output=True, width=WIDTH)
    return f"{_head(language)}\n{body.getvalue().decode()}"


def _head(language: str) -> str:
    """The first entry and the comments over it, which say the terms that translators keep to."""
    return catalogue_file(language).read_text().partition("\n\n")[0] + "\n"


def problems(language: str) -> list[str]:
    """Whatever is untranslated, or was translated with other placeholders."""
    return [problem for message in renewed(language) if message.id for problem in _problems_of(message)]


def _problems_of(message: Message) -> Iterator[str]:
    forms, strings = _each(message.id), _each(message.string)
    if not strings or not all(strings):
        yield f"not translated: {forms[0]!r}"
        return
    wanted = set(PLACEHOLDER.findall(forms[-1]))
    for string in strings:
        if set(PLACEHOLDER.findall(string)) != wanted:
            yield f"other placeholders: {forms[0]!r} as {string!r}"


def _each(words: Any) -> list[str]:
    return [each or "" for each in words] if isinstance(words, list | tuple) else [words or ""]


def main(arguments: list[str]) -> int:
    """Renew every catalogue, or check them; returns 1 where something is left to translate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    given = parser.parse_args(arguments)
    left = 0
    for language in FOLDERS:
        if not given.check:
            catalogue_file(language).write_text(written(language))
        for problem in problems(language):
            left += 1
            sys.stdout.write(f"{language}: {problem}\n")
    return 1 if left else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
