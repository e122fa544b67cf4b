"""The catalogues say what the sources say: nothing missing, nothing left over, nothing half translated."""

from __future__ import annotations

import re

import pytest
from babel.messages.pofile import read_po

from review_ui import words
from review_ui.locale import renew
from review_ui.reader import LANGUAGES, Reader, answering
from review_ui.text import day, when
from review_ui.words import FOLDERS, _, catalogue_file, ngettext

NAMED = re.compile(r"%\(|\{[a-z_]")


def test_every_language_but_that_of_the_sources_has_a_catalogue() -> None:
    assert set(LANGUAGES) - {"en"} == set(FOLDERS) == {name for name in LANGUAGES if name != "en"}
    assert all(catalogue_file(language).is_file() for language in FOLDERS)


@pytest.mark.parametrize("language", sorted(FOLDERS))
def test_a_catalogue_is_what_the_sources_say(language: str) -> None:
    assert catalogue_file(language).read_text() == renew.written(language), "run: make words"


@pytest.mark.parametrize("language", sorted(FOLDERS))
def test_every_message_is_translated_with_its_placeholders_and_markup(language: str) -> None:
    assert renew.problems(language) == []


@pytest.mark.parametrize("language", sorted(FOLDERS))
def test_a_catalogue_has_as_many_plural_forms_as_its_language(language: str) -> None:
    with catalogue_file(language).open("rb") as file:
        kept = read_po(file)
    assert not any(message.fuzzy for message in kept)
    assert kept.num_plurals == renew.renewed(language).num_plurals
    counted = [message for message in kept if message.pluralizable]
    assert counted
    assert {len(message.string) for message in counted} == {kept.num_plurals}


def test_a_message_is_a_whole_sentence_or_a_name_and_no_fragment() -> None:
    ids = [message.id if isinstance(message.id, str) else message.id[-1] for message in renew.messages() if message.id]
    assert [each for each in ids if each != each.strip()] == []
    assert [each for each in ids if not re.search(r"[A-Za-z]", NAMED.sub("", each))] == []


def test_words_come_in_the_readers_language_and_english_where_there_is_no_translation() -> None:
    assert _("Queue") == "Queue"
    with answering(Reader(language="zh-Hans")):
        assert _("Queue") != "Queue"
        assert _("no such message") == "no such message"
        assert ngettext("{n} day ago", "{n} days ago", 2).format(n=2) != "2 days ago"
        assert _("") == "", "the head of a catalogue is no message"
    assert ngettext("{n} day ago", "{n} days ago", 1).format(n=1) == "1 day ago"


def test_a_time_is_written_as_the_readers_language_and_zone_have_it(now) -> None:
    night = now.replace(hour=20, minute=5)
    with answering(Reader(language="zh-Hans", zone="Asia/Shanghai")):
        assert f">{night.year}年" in when(night)
        assert "04:05<" in when(night)
        assert "月" in day(night)
    assert "20:05 UTC<" in when(night)
    assert "20:05:00 UTC" in when(night), "UTC stays on hover"


def test_an_unknown_language_reads_the_sources() -> None:
    assert words.catalogue("tlh").gettext("Queue") == "Queue"
