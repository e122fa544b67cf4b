"""Which stated facts cannot both be current. Pure: the same statements in any order give the same answer.

Most relations hold of many things at once ("Ana manages releases" and "Ana approves DNS"), so another value alone says
nothing. A conflict takes evidence that one value took another's place: a statement that names the change, a property
that has one value at a time, figures of one kind, or a plain denial. Times without a common moment never conflict.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from storage.ids import content_hash
from tasks.conflict.claims import ConflictKind
from tasks.conflict.statements import IS, Statement, key_of
from tasks.conflict.times import Interval

_FIGURE = re.compile(r"^(?P<sign>[-+$€£¥v]?)\d[\d,._]*\s?(?P<unit>\D{0,20})$")
_SWITCHES = {
    word: pair
    for pair in (("on", "off"), ("enabled", "disabled"), ("true", "false"), ("open", "closed"), ("up", "down"))
    for word in pair
}
FORMS = ("changed", "other-value", "denied")


@dataclass(frozen=True)
class Disagreement:
    """Two sets of statements, one value each. ``right`` is the side that would stand if it is a supersession.

    ``identity`` does not depend on how often or where either was said.
    """

    kind: ConflictKind
    form: str
    subject: str
    detail: str
    left: tuple[Statement, ...]
    right: tuple[Statement, ...]
    identity: tuple[str, ...]

    @property
    def refs(self) -> tuple[str, str]:
        """Where each side was said first."""
        return self.left[0].ref, self.right[0].ref


def disagreements(statements: Iterable[Statement]) -> list[Disagreement]:
    """What cannot both be current among statements of one namespace; each pair of values once."""
    by_subject: defaultdict[str, set[Statement]] = defaultdict(set)
    for each in statements:
        by_subject[key_of(each.subject)].add(each)
    found: list[Disagreement] = []
    for subject, said in sorted(by_subject.items()):
        ordered = sorted(said, key=_age)
        changed = _changes(subject, ordered)
        told = {(hit.identity[1], hit.identity[2]) for hit in changed}
        found += [*changed, *_other_values(subject, ordered, told), *_denials(subject, ordered)]
    return found


def says_of(statements: Sequence[Statement]) -> str:
    """Hash of what one side states, however often it was said."""
    one = statements[0]
    parts = [key_of(one.subject), key_of(one.attribute), key_of(one.previous), key_of(one.value), one.denied]
    return content_hash(parts, 32)


def _changes(subject: str, said: Sequence[Statement]) -> list[Disagreement]:
    """Values that a change ended, and that are stated all the same."""
    changes = [each for each in said if each.is_change]
    found = []
    for previous in sorted({key_of(each.previous) for each in changes}):
        ended = [each for each in changes if key_of(each.previous) == previous]
        last = ended[-1]
        came_back = [each for each in changes if key_of(each.value) == previous and _later(each, last)]
        held = [each for each in said if _holds(each, previous, last)]
        if came_back or not held:
            continue
        same = [each for each in ended if key_of(each.value) == key_of(last.value)]
        again = any(_later(each, last) for each in held)
        to = f"to “{last.value}”" if last.value else "and nothing took its place"
        detail = f"of “{last.subject}” it is said “{last.previous}”, and that it changed from that {to}"
        detail += "; the old value was said again after the change" if again else ""
        kind: ConflictKind = "contradiction" if again else "supersession"
        identity = (subject, previous, key_of(last.value), "changed")
        found.append(Disagreement(kind, "changed", subject, detail, tuple(held), tuple(same), identity))
    return found


def _holds(each: Statement, value: str, change: Statement) -> bool:
    """Whether a statement has the value that the change ended, at a time that the change reaches."""
    if each.is_change or each.denied or key_of(each.value) != value:
        return False
    if change.attribute and each.attribute and key_of(change.attribute) != key_of(each.attribute):
        return False
    return each.valid.high is None or each.valid.high > change.holds_from


def _other_values(subject: str, said: Sequence[Statement], told: set[tuple[str, str]]) -> list[Disagreement]:
    """The newest value of what has one at a time, against the newest other one that it leaves no room for."""
    found = []
    for attribute, kind_of_value in sorted({_slot(each) for each in said if _slot(each)[0]}):
        values: defaultdict[str, list[Statement]] = defaultdict(list)
        for each in said:
            if not each.denied and each.value and _slot(each) == (attribute, kind_of_value):
                values[key_of(each.value)].append(_from_then_on(each))
        if len(values) < 2 or not (kind_of_value or any(each.single for own in values.values() for each in own)):
            continue
        hit = _newest_pair(subject, attribute, values, told)
        found += [hit] if hit else []
    return found


def _newest_pair(
    subject: str, attribute: str, values: dict[str, list[Statement]], told: set[tuple[str, str]]
) -> Disagreement | None:
    newest, *others = sorted(values, key=lambda value: (values[value][-1].holds_from, value), reverse=True)
    for other in others:
        pairs = [(a, b) for a in values[other] for b in values[newest] if a.valid.overlaps(b.valid)]
        if not pairs or (other, newest) in told or (newest, other) in told:
            continue
        older, newer = values[other], values[newest]
        same_time = older[-1].holds_from == newer[-1].holds_from
        what = "it" if attribute == IS else f"“{attribute}”"
        more = f"; {len(values)} values were stated so far" if len(values) > 2 else ""
        detail = f"of “{newer[-1].subject}” {what} is said to be “{older[-1].value}”, and “{newer[-1].value}”{more}"
        kind: ConflictKind = "contradiction" if same_time else "supersession"
        if same_time:
            older, newer = sorted((older, newer), key=lambda side: key_of(side[0].value))
        # Which of the two is the newer may turn; it stays one conflict.
        identity = (subject, *sorted((other, newest)), f"value of {attribute}")
        return Disagreement(kind, "other-value", subject, detail, tuple(older), tuple(newer), identity)
    return None


def _slot(each: Statement) -> tuple[str, str]:
    """(attribute, kind of value): "is" can be said of much at once, so only figures of one kind exclude each other."""
    attribute = key_of(each.attribute)
    if attribute != IS:
        return attribute, ""
    kind = _kind_of(key_of(each.value))
    return (IS, kind) if kind else ("", "")


def _kind_of(value: str) -> str:
    if value in _SWITCHES:
        return "/".join(_SWITCHES[value])
    figure = _FIGURE.match(value)
    return f"{figure['sign']}n {figure['unit'].strip()}" if figure else ""


def _from_then_on(each: Statement) -> Statement:
    """A change states its new value from then on."""
    return replace(each, valid=Interval(each.holds_from, None)) if each.is_change else each


def _denials(subject: str, said: Sequence[Statement]) -> list[Disagreement]:
    found = []
    slots = sorted({(key_of(each.attribute), key_of(each.value)) for each in said if each.denied})
    for attribute, value in slots:
        same = [each for each in said if (key_of(each.attribute), key_of(each.value)) == (attribute, value)]
        yes, no = ([each for each in same if each.denied is side and not each.is_change] for side in (False, True))
        if not any(a.valid.overlaps(b.valid) for a in yes for b in no):
            continue
        same_time = yes[-1].holds_from == no[-1].holds_from
        older, newer = (yes, no) if same_time or _later(no[-1], yes[-1]) else (no, yes)
        detail = f"of “{yes[-1].subject}” “{yes[-1].value}” is said to be so, and not to be so"
        kind: ConflictKind = "contradiction" if same_time else "supersession"
        identity = (subject, attribute, value, "denied")
        found.append(Disagreement(kind, "denied", subject, detail, tuple(older), tuple(newer), identity))
    return found


def _later(one: Statement, two: Statement) -> bool:
    return one.holds_from > two.holds_from


def _age(each: Statement) -> tuple[object, ...]:
    return each.holds_from, each.said_at, each.ref, key_of(each.attribute), key_of(each.value), key_of(each.previous)
