"""Exports: equal for equal rules, closed against hostile text, and able to say what of them no longer holds."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from support.hostile import HOSTILE
from tasks.promote.export import inline, render, skill_name, visible
from tasks.promote.export_marks import FORMATS, Exported, Format, NoExport, Origin, Standing, judge, read_marks

ORIGIN = Origin("0193-export", "acme/shop", 12, datetime(2026, 11, 30, 20, 5, tzinfo=UTC))
PLAIN = Exported(
    id="avoid-cancel-order-3f2a1c",
    version=3,
    when_to_use="a customer wants to cancel with `cancel_order`",
    guidance=("Look the order up first.", "Say what it costs."),
    scope={"environment": {"api": ">=3.1,<=3.4"}, "agents": ["clerk"]},
    evidence={"independent_groups": 55, "support": 19, "counter": 2},
    recheck_at=date(2027, 2, 28),
)
OTHER = replace(PLAIN, id="do-greet-0a0a0a", version=1, recheck_at=None, guidance=("Greet.",))
PIECES = (
    "```", "~~~~", "---", "***", "===", "<!--", "-->", "<!-- slowwave-export {} -->", "<!-- slowwave-export end -->",
    "<script>", "</div>", "&lt;", "&#60;", "&amp;", "\n", "\r\n", "\r", "\n\n", "\n# System", "\n    code", "\n> quote",
    "# ", "- ", "+ ", "1. ", "12) ", "> ", "| a |", "![x](http://evil.example/x.png)", "[x](http://evil.example)",
    "\\![x](http://evil.example/x.png)", "\\[x](http://evil.example)", "\\\\[x](http://evil.example)",
    "[x]: http://evil.example", "<http://evil.example>", "`", "``", "\\", "\\`", "\\[", "\u202e", "\u200b", "\u2028",
    "\u2029", "\x85", "\x0b", "\x0c", "\x1b[31m", "\x00", "\ufeff", "\u00ad", "\u3164", "\ud800", "\U000e0041",
    "\ufe01", "a", " ", "\t", "\u00a0", "name: x", "{{7*7}}", '"', "'", ": ", HOSTILE,
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(st.characters(), max_size=6), max_size=8).map("".join)


def hostile(text: str) -> Exported:
    """A rule that holds this text wherever a rule holds text."""
    return replace(
        PLAIN, when_to_use=text, guidance=(text, text), scope={"environment": {text: text}, "agents": [text]}
    )


def shape(text: str) -> list[str]:
    """The blocks of a page, without their words."""
    tokens = MarkdownIt("commonmark").parse(text)
    return [token.type for token in tokens]


def spans(text: str) -> set[str]:
    """The kinds of what stands within the blocks of a page."""
    tokens = MarkdownIt("commonmark").parse(text)
    return {child.type for token in tokens for child in token.children or ()}


def body(format: Format, rule: Exported) -> str:
    """An export of one rule, without a front matter."""
    return render(format, ORIGIN, [rule]).split("\n---\n")[-1]


@pytest.mark.parametrize("format", FORMATS)
def test_equal_rules_give_equal_text_in_whatever_order_they_come(format: Format) -> None:
    assert render(format, ORIGIN, [PLAIN, OTHER]) == render(format, ORIGIN, [OTHER, PLAIN])


@pytest.mark.parametrize("format", ["agents-md", "skill"])
def test_a_page_says_what_it_is_a_copy_of_and_that_it_goes_stale(format: Format) -> None:
    text = render(format, ORIGIN, [PLAIN, OTHER])
    wanted = ("acme/shop", "epoch 12", "2026-11-30T20:05:00Z", "It goes stale", "slowwave export --check",
                 "first re-check is due on 2027-02-28", "avoid-cancel-order-3f2a1c, version 3",
                 "Re-check by 2027-02-28.", "No re-check is set.", "api >=3.1,<=3.4; agents clerk",
                 "55 independent groups, 19 for, 2 against", "1. Look the order up first.",
                 "`cancel_order`")  # fmt: skip
    for said in wanted:
        assert said.replace("<", "&lt;") in text


def test_a_rule_whose_re_check_was_due_says_so() -> None:
    due = render("agents-md", ORIGIN, [replace(PLAIN, recheck_at=date(2026, 11, 30))])
    assert "Re-check by 2026-11-30 (due when this was made)." in due
    assert "(due" not in render("agents-md", ORIGIN, [replace(PLAIN, recheck_at=date(2026, 12, 1))])


def test_a_namespace_without_rules_gives_an_export_that_says_so() -> None:
    assert "No rule is active here." in render("agents-md", ORIGIN, [])
    for format in FORMATS:
        assert read_marks(render(format, ORIGIN, [])).versions == {}


@pytest.mark.parametrize("around", ["{}", "x{}", "{} x", "`{}", "{}`", "{}\\", "1{}"])
def test_no_piece_of_markup_opens_or_closes_anything(around: str) -> None:
    for piece in PIECES:
        stays_closed(around.format(piece) if piece != "{{7*7}}" else piece)


@given(TEXTS)
def test_no_text_changes_the_blocks_of_a_page_or_puts_markup_into_it(text: str) -> None:
    stays_closed(text)


def stays_closed(text: str) -> None:
    """Whatever a rule says, the page has the blocks of a plain one, and nothing but words and code within them."""
    page, plain = body("agents-md", hostile(text)), body("agents-md", PLAIN)
    assert shape(page) == shape(plain)
    assert spans(page) <= {"text", "code_inline", "softbreak", "strong_open", "strong_close", "em_open", "em_close"}
    assert len(page.splitlines()) == len(plain.splitlines())
    assert page.count("<!--") == page.count("-->") == 2
    unseen = {char for char in page if not char.isprintable() and char != "\n"}
    assert unseen <= set("\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2"), "but joiners"


@given(TEXTS)
def test_no_text_reaches_the_front_matter_of_a_skill(text: str) -> None:
    page = render("skill", ORIGIN, [hostile(text)])
    assert page.startswith("---\n")
    front, rest = page[4:].split("\n---\n", 1)
    read = yaml.safe_load(front)
    assert (set(read), read["name"]) == ({"name", "description", "metadata"}, "slowwave-acme-shop")
    assert "\n---\n" not in rest
    assert front == render("skill", ORIGIN, [PLAIN])[4:].split("\n---\n", 1)[0]


@given(TEXTS)
def test_lines_of_json_hold_the_exact_text_and_hide_nothing(text: str) -> None:
    page = render("jsonl", ORIGIN, [hostile(text)])
    assert page.isascii()
    head, line = page.splitlines()
    assert set(json.loads(head)) == {"slowwave-export"}
    read = json.loads(line)
    assert (read["when_to_use"], read["guidance"]) == (text, [text, text])


@given(TEXTS, st.sampled_from(FORMATS))
def test_marks_are_read_back_whatever_the_rules_say(text: str, format: Format) -> None:
    marks = read_marks(render(format, ORIGIN, [hostile(text), OTHER]))
    assert (marks.format, marks.origin) == (format, ORIGIN)
    assert marks.versions == {PLAIN.id: 3, OTHER.id: 1}
    assert marks.rechecks == {PLAIN.id: date(2027, 2, 28)}
    assert (marks.untouched, marks.alone) == (True, True)


@pytest.mark.parametrize("format", FORMATS)
def test_marks_stand_line_ends_of_windows_and_notice_a_change(format: Format) -> None:
    text = render(format, ORIGIN, [PLAIN])
    assert read_marks("\ufeff" + text.replace("\n", "\r\n")).untouched
    changed = read_marks(text.replace("Look the order up first.", "Cancel at once."))
    assert (changed.untouched, changed.versions) == (False, {PLAIN.id: 3})


def test_an_export_within_a_page_of_somebodys_own_is_found_and_known_not_to_be_alone() -> None:
    page = "# Our agents\n\nBe kind.\n\n" + render("agents-md", ORIGIN, [PLAIN]) + "\n## Ours again\n"
    marks = read_marks(page)
    assert (marks.untouched, marks.alone, marks.versions) == (True, False, {PLAIN.id: 3})
    assert read_marks("---\nname: mine\n---\n" + render("agents-md", ORIGIN, [PLAIN])).alone is False


@pytest.mark.parametrize(
    "text",
    ["", "# Ours", "{}", '{"slowwave-export": 7}', "[1]", "<!-- slowwave-export {} -->", "[" * 100_000,
     '<!-- slowwave-export {"rules": []} -->\n<!-- slowwave-export end -->'],
)  # fmt: skip
def test_what_is_no_export_is_refused(text: str) -> None:
    with pytest.raises(NoExport):
        read_marks(text)


@given(st.text(st.characters(), max_size=200))
def test_any_file_is_an_export_or_refused(text: str) -> None:
    with pytest.raises(NoExport):
        read_marks(text)


def _judged(standings: dict[str, Standing], active: dict[str, int], today: date = date(2026, 12, 1)) -> Any:
    return judge(read_marks(render("jsonl", ORIGIN, [PLAIN, OTHER])), standings, active, today)


def test_an_export_holds_while_its_versions_are_active() -> None:
    found = _judged({PLAIN.id: Standing("active"), OTHER.id: Standing("active")}, {PLAIN.id: 3, OTHER.id: 1, "new": 1})
    assert (found.is_stale, found.changes, found.due, found.missing) == (False, (), (), ("new",))


def test_an_export_is_stale_by_what_was_withdrawn_superseded_or_is_unknown() -> None:
    gone = _judged({PLAIN.id: Standing("revoked", "it misleads")}, {})
    assert [(change.rule_id, change.kind, change.reason) for change in gone.changes] == [
        (PLAIN.id, "withdrawn", "it misleads"),
        (OTHER.id, "unknown", "the store has no such version"),
    ]
    newer = _judged({PLAIN.id: Standing("superseded", "", 4), OTHER.id: Standing("active")}, {PLAIN.id: 4, OTHER.id: 1})
    assert [(change.kind, change.current_version) for change in newer.changes] == [("superseded", 4)]
    assert newer.is_stale


def test_a_re_check_that_is_due_is_told_but_makes_no_export_stale() -> None:
    standings = {PLAIN.id: Standing("active"), OTHER.id: Standing("active")}
    found = _judged(standings, {PLAIN.id: 3, OTHER.id: 1}, date(2027, 2, 28))
    assert (found.is_stale, found.due) == (False, (PLAIN.id,))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("`a && b` in C:\\dir", "`a && b` in C:\\dir"),
        ("café 漢字 العربية 👩\u200d💻", "café 漢字 العربية 👩\u200d💻"),
        ("a\u200db", "a⟦U+200D⟧b"),
        ("x\u202ey\x1b", "x⟦U+202E⟧y⟦U+001B⟧"),
        ("one\r\ntwo", "one ⏎ two"),
        ("", "⟦empty⟧"),
        ("> 3. x", "\\> 3. x"),
        ("3) x", "3\\) x"),
    ],
)
def test_ordinary_text_stays_and_hidden_text_shows(text: str, shown: str) -> None:
    assert inline(text) == shown
    assert visible(visible(text)) == visible(text)


@given(st.from_regex(r"[a-z0-9][a-z0-9._-]{0,40}(/[a-z0-9][a-z0-9._-]{0,40}){0,3}", fullmatch=True))
def test_a_skills_name_is_one_that_skills_may_have(namespace: str) -> None:
    assert re.fullmatch(r"slowwave(-[a-z0-9]+)+", skill_name(namespace))
    assert len(skill_name(namespace)) <= 64


def test_no_two_namespaces_share_a_skills_name() -> None:
    names = {skill_name(each) for each in ("acme/shop", "acme-shop", "acme.shop", "acme/shop.", "acme_shop")}
    assert len(names) == 5
