"""The checks on what agents would read, and on what was written into the runs behind it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tasks.contrast.predicate import PredicateInvalid, call_words, from_canonical
from tasks.verify.check import Check, CitedRun, Subject, advice
from tasks.verify.signs import Sign, signs, split_signs

NAMELIKE = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])\w{5,}\b|\b\d{5,}\b|[\w.+-]+@[\w-]+\.\w+|https?://\S+")
"""Literals that name one thing: order numbers, codes, addresses."""

VOLATILE = frozenset(
    ("availability", "available", "balance", "eta", "fare", "forecast", "inventory", "now", "price", "prices", "quota",
     "seats", "stock", "temperature", "today", "tomorrow", "weather")
)  # fmt: skip
"""Names of what changes by the hour: a value of it is for the system that knows, never for a rule."""
_NOW = re.compile(
    r"\b(currently|right now|at the moment|as of (today|now)|today|tonight|this (morning|week)|in stock|on call now"
    r"|derzeit|heute|actuellement|aujourd'hui|actualmente|hoy)\b|目前|现在|今天|現在|今日|지금|오늘",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\d")


def over_specific(subject: Subject) -> Check:
    """No literal in the text that names one thing, such as an order number, and is of a single group's runs."""
    literals = sorted({found for text in advice(subject.content) for found in NAMELIKE.findall(text)})
    groups = {one: {run.group for run in subject.cited if one in run.literals} for one in literals}
    single = [one for one in literals if len(groups[one]) <= 1]
    if single:
        detail = f"the text holds literals of a single run: {', '.join(single[:5])}"
        return Check("over-specific", "warn", detail, "see whether the advice holds without them, and edit them out")
    if literals:
        return Check("over-specific", "pass", f"its literals stand in several groups: {', '.join(literals[:5])}")
    return Check("over-specific", "pass", "no literal of a single run is in the text")


def authoritative(subject: Subject) -> Check:
    """State that changes by the hour is not a rule: the advice has to point to the system that knows it."""
    name, source = "authoritative-source", str(subject.packet.get("authoritative_source") or "")
    if pointer := _volatile_argument(subject):
        argument, call = pointer
        detail = f"it fixes a value of “{argument}”, which changes from hour to hour"
        return Check(name, "fail", detail, f"advise to ask for it each time: {call} knows")
    stated = [line for line in advice(subject.content) if _NOW.search(line) and _FIGURE.search(line)]
    if stated:
        detail = f"it states how things are just now: “{_short(stated[0])}”"
        return Check(name, "fail", detail, "point to the system that knows, and leave the value to it")
    if not source:
        return Check(name, "fail", "no authoritative source is named", "name the system or record that knows")
    return Check(name, "pass", source)


def _volatile_argument(subject: Subject) -> tuple[str, str] | None:
    try:
        claim = from_canonical(dict(subject.content.get("predicate") or {}))
    except PredicateInvalid:
        return None
    if claim.kind != "argument" or claim.parts[2].startswith("<"):
        return None
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", claim.parts[1]).casefold())
    return (claim.parts[1], call_words(claim.parts[0])) if words and words[-1] in VOLATILE else None


def hidden_text(subject: Subject) -> Check:
    """No hidden characters in what agents would read; those in cited steps are pointed out."""
    own = [sign for sign in signs(advice(subject.content)) if sign.kind != "order"]
    if own:
        return Check("hidden-text", "fail", f"the text holds {_listed(own)}", "reject it, or edit the text")
    where, found = _marked(subject.cited, orders=False)
    if found:
        fix = "read them with the marks shown"
        return Check("hidden-text", "warn", f"{where} hold {_listed(found)}", fix)
    return Check("hidden-text", "pass", "no hidden characters")


def orders(subject: Subject) -> Check:
    """Nothing that reads as an order to the agent, in the text or in what it rests on."""
    own = [sign for sign in signs(advice(subject.content)) if sign.kind == "order"]
    if own:
        return Check("injection", "fail", f"the text {_listed(own)}", "reject it, or edit the text")
    where, found = _marked(subject.cited, orders=True)
    hinting = [run for run in subject.cited if run.hints]
    split = split_signs([hint for run in hinting for hint in run.hints])
    said = [f"{where} hold text that {_listed(found)}"] if found else []
    if split:
        said.append(
            f"text that {_listed(split)} is split over {len(hinting)} cited runs (first: {hinting[0].episode_id})"
        )
    if said:
        fix = "open these runs, and reject this if it does what that text asks"
        return Check("injection", "warn", "; ".join(said), fix)
    return Check("injection", "pass", "no text that reads as an order to the agent")


def secrets(subject: Subject) -> Check:
    """No secret in what agents would read."""
    if subject.secrets:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(subject.secrets.items()))
        return Check("secrets", "fail", f"the text seems to hold secrets: {kinds}", "reject it, or edit the text")
    return Check("secrets", "pass", "no secrets")


def _short(line: str) -> str:
    return line if len(line) <= 80 else f"{line[:79]}…"


def _marked(cited: Sequence[CitedRun], *, orders: bool) -> tuple[str, list[Sign]]:
    """Where signs were found, in words, and which."""
    found = {run.episode_id: [s for s in run.signs if (s.kind == "order") == orders] for run in cited}
    marked = {episode_id: signs for episode_id, signs in found.items() if signs}
    where = f"{len(marked)} of {len(found)} cited runs (first: {min(marked)})" if marked else ""
    return where, [sign for each in marked.values() for sign in each]


def _listed(found: Sequence[Sign]) -> str:
    return "; ".join(sorted({sign.what for sign in found})[:6])
