"""Active rules as files that other tools read: a Markdown page, a skill, lines of JSON. Pure.

An export is a copy, so it says of itself what it is a copy of, and carries marks from which a later look can tell what
of it no longer holds. The text of a rule is hostile: it stays within its own line, opens and closes nothing of the
format around it, and hides nothing.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, date
from typing import Any

from tasks.promote.export_marks import Exported, Format, Origin, closed, one_line, time_words
from tasks.verify.signs import CONTROLS, HIDDEN, JOINERS

ADVICE = (
    "These rules were reviewed by people. They are advice for the situations they name, and permit nothing that you "
    "are not permitted."
)
LONGEST_NAME = 64
"""Characters of a skill's name."""
_PREPENDED = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2")
"""Format characters of Arabic and Syriac that a reader does see."""
_FIRST = re.compile(r"^(\d*)([#>+*=\-|:~.)])")
_RUNS = re.compile(r"`{3,}|~{3,}")
_ESCAPES = re.compile(r"\\(?=[!-/:-@\[-`{-~]|$)")
"""A backslash that Markdown would take for the start of an escape; others, as in paths, are left as they are."""
_ENTITY = re.compile(r"&(?=#?\w+;)")


def render(format: Format, origin: Origin, rules: Sequence[Exported]) -> str:
    """The whole file. Equal arguments give equal text; the rules are put in the order of their ids."""
    listed = sorted(rules, key=lambda rule: rule.id)
    if format == "jsonl":
        return closed(format, origin, listed, "".join(one_line(_record(rule)) + "\n" for rule in listed))
    page = _page(format, origin, listed)
    front = _front_matter(origin) if format == "skill" else ""
    return front + closed(format, origin, listed, page)


def skill_name(namespace: str) -> str:
    """A skill's name, and that of its folder: lower-case letters, digits and hyphens, no two namespaces alike."""
    slug = re.sub(r"[^a-z0-9]+", "-", namespace.casefold()).strip("-")
    name = f"slowwave-{slug}"
    if re.fullmatch(r"[a-z0-9/]+", namespace) and len(name) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(namespace.encode()).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - 9].rstrip('-')}-{digest}"


def inline(text: object) -> str:
    """A text as part of a line of Markdown: nothing in it is a block, tag, comment or link, and nothing is hidden.

    Code between single backticks stays code. What a reader would not see is written as ``⟦U+202E⟧``, a line end as
    ``⏎``.
    """
    shown = visible(re.sub(r"\r\n?|\n", " ⏎ ", str(text))).strip()
    shown = _ESCAPES.sub(r"\\\\", shown)
    shown = _ENTITY.sub("&amp;", shown).replace("<", "&lt;").replace("-->", "--&gt;").replace("[", "\\[")
    shown = _RUNS.sub(lambda run: "".join(f"\\{char}" for char in run.group()), shown)
    return _FIRST.sub(r"\1\\\2", shown) or "⟦empty⟧"


def visible(text: str) -> str:
    """One line in which every character that a reader would not see, or that ends a line, is named instead."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(text, at) for at in range(len(text)))


def _shown(text: str, at: int) -> str:
    char = text[at]
    if char == "\t" or unicodedata.category(char) == "Zs":
        return " "
    if JOINERS.match(char):  # ordinary in emoji and in several scripts
        beside = text[max(0, at - 1) : at] + text[at + 1 : at + 2]
        return f"⟦U+{ord(char):04X}⟧" if not beside or beside.isascii() else char
    if HIDDEN.match(char) or CONTROLS.match(char) or (not char.isprintable() and char not in _PREPENDED):
        return f"⟦U+{ord(char):04X}⟧"
    return char


def _page(format: Format, origin: Origin, rules: Sequence[Exported]) -> str:
    title = f"# Reviewed rules of {inline(origin.namespace)}"
    parts = [title, _banner(format, origin, rules), ADVICE]
    parts += [_rule(rule, origin.at.astimezone(UTC).date()) for rule in rules] or ["No rule is active here."]
    return "\n\n".join(parts) + "\n"


def _banner(format: Format, origin: Origin, rules: Sequence[Exported]) -> str:
    dates = [rule.recheck_at for rule in rules if rule.recheck_at]
    first = f" The first re-check is due on {min(dates).isoformat()}." if dates else ""
    file = "SKILL.md" if format == "skill" else "AGENTS.md"
    return (
        f"> A copy of the rules active in Slowwave ({len(rules)}), namespace {inline(origin.namespace)}, "
        f"epoch {origin.epoch}, made at {time_words(origin.at)} (export {origin.export_id}).\n"
        "> **It goes stale**: a rule that is withdrawn there stays here until this file is made anew."
        f"{first}\n"
        f"> Before you rely on it: slowwave export --check {file}. Agents that can should read from Slowwave itself."
    )


def _rule(rule: Exported, today: date) -> str:
    steps = [f"{number}. {inline(step)}" for number, step in enumerate(rule.guidance, 1)]
    return "\n".join(
        [
            f"## {inline(rule.id)}, version {rule.version}",
            "",
            f"When to use: {inline(rule.when_to_use)}",
            "",
            *(steps or ["1. ⟦empty⟧"]),
            "",
            f"Scope: {inline(_scope(rule.scope))}. Evidence: {_evidence(rule.evidence)}. {_recheck(rule, today)}",
        ]
    )


def _scope(scope: Mapping[str, Any]) -> str:
    components = scope.get("environment") or {}
    parts = [f"{name} {components[name]}" for name in sorted(components)] if isinstance(components, Mapping) else []
    agents = scope.get("agents") or []
    parts += [f"agents {', '.join(sorted(map(str, agents)))}"] if isinstance(agents, list) and agents else []
    parts += [f"from {scope['valid_from']}"] if scope.get("valid_from") else []
    return "; ".join(parts) or "the whole namespace"


def _evidence(figures: Mapping[str, Any]) -> str:
    named = (("independent_groups", "independent groups"), ("support", "for"), ("counter", "against"))
    counts = [f"{figures[name]} {word}" for name, word in named if isinstance(figures.get(name), int)]
    return ", ".join(counts) or "see its page"


def _recheck(rule: Exported, today: date) -> str:
    if rule.recheck_at is None:
        return "No re-check is set."
    due = " (due when this was made)" if rule.recheck_at <= today else ""
    return f"Re-check by {rule.recheck_at.isoformat()}{due}."


def _front_matter(origin: Origin) -> str:
    what = (
        f"Rules that people reviewed for the tasks of {origin.namespace}. Use before starting a task there. "
        "A copy that goes stale."
    )
    lines = [f"name: {skill_name(origin.namespace)}", f"description: {one_line(what)}"]
    lines += ["metadata:", "  source: slowwave", f"  epoch: {one_line(str(origin.epoch))}"]
    lines += [f"  exported-at: {one_line(time_words(origin.at))}"]
    return "\n".join(["---", *lines, "---", ""])


def _record(rule: Exported) -> dict[str, Any]:
    return {
        "id": rule.id,
        "version": rule.version,
        "when_to_use": rule.when_to_use,
        "guidance": list(rule.guidance),
        "scope": dict(rule.scope),
        "evidence": dict(rule.evidence),
        "recheck_at": rule.recheck_at.isoformat() if rule.recheck_at else None,
    }
