"""Which claims to compare at all: those that speak of one thing, and those whose words are alike.

An index by what is asked for keeps the cost at the pairs that can conflict, not at all pairs there are.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tasks.conflict.claims import Claim, ConflictKind, Found, compare, may_meet, same_finding
from tasks.conflict.judge import Judge, Judgement, NoJudge

ALIKE = 0.46
"""Cosine of character n-grams from which two texts are put before the judge, or the reviewer."""

MOST_ALIKE = 3
MOST_FOUND = 20
"""Conflicts kept of one claim, the gravest first: nobody reads more, and a hostile stream could make any number."""

LONGEST = 2000
GRAVITY: Mapping[str, int] = {"contradiction": 0, "supersession": 1, "duplicate": 2, "overlap": 3}


def find(mine: Sequence[Claim], others: Sequence[Claim], judge: Judge | None = None) -> dict[str, list[Found]]:
    """The conflicts of each of ``mine``, by its ref, with the rest of them and with ``others``; gravest first."""
    everyone = {claim.ref: claim for claim in (*others, *mine)}
    index: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for claim in everyone.values():
        for demand in claim.demands:
            index[demand.about].add(claim.ref)
    found: dict[str, list[Found]] = {}
    for claim in mine:
        met = sorted({ref for demand in claim.demands for ref in index[demand.about]} - {claim.ref})
        found[claim.ref] = [hit for ref in met if (hit := compare(claim, everyone[ref]))]
    for hit in _by_words(mine, everyone, judge or NoJudge()):
        if hit.left in found:
            found[hit.left].append(hit)
    return {ref: sorted(hits, key=_gravity)[:MOST_FOUND] for ref, hits in found.items()}


def _gravity(hit: Found) -> tuple[int, str, str]:
    return GRAVITY[hit.kind], hit.form, hit.right


def _by_words(mine: Sequence[Claim], everyone: Mapping[str, Claim], judge: Judge) -> list[Found]:
    """What only words can tell, seen from both sides: at least one asks for nothing that a machine could compare."""
    refs = sorted({(min(pair), max(pair)) for pair in _alike(mine, list(everyone.values()))})
    pairs = [(everyone[one], everyone[two]) for one, two in refs]
    judged = judge.judge([(one.text, two.text) for one, two in pairs])
    found: list[Found | None] = []
    for (one, two), said in zip(pairs, judged, strict=True):
        found += [_judged(one, two, said, judge.name), _judged(two, one, said, judge.name)]
    return [hit for hit in found if hit is not None]


def _judged(one: Claim, two: Claim, judged: Judgement, name: str) -> Found | None:
    if judged.relation == "unrelated":
        return None
    kinds: dict[str, tuple[ConflictKind, str]] = {
        "contradiction": ("contradiction", "opposite-words"),
        "duplicate": ("duplicate", "same-words"),
        "unsure": ("overlap", "alike-words"),
    }
    kind, form = kinds[judged.relation]
    who = "may say the same" if judged.relation == "unsure" else f"{name} judged: {judged.why or judged.relation}"
    return Found(kind, form, one.ref, two.ref, f"{who}; the other says: {two.title}")


def _alike(mine: Sequence[Claim], everyone: Sequence[Claim]) -> Iterator[tuple[str, str]]:
    """Refs of pairs of likely one meaning: character n-grams, so that a script without spaces is compared as well."""
    left = [claim for claim in mine if claim.text]
    right = [claim for claim in everyone if claim.text]
    if not left or all(claim.demands for claim in right):
        return
    # Imported where it is used: most nights have no such pair, and it takes over a second.
    from sklearn.feature_extraction.text import TfidfVectorizer

    rows = TfidfVectorizer(analyzer="char", ngram_range=(2, 3), sublinear_tf=True, preprocessor=_normal).fit_transform(
        [claim.text for claim in right]
    )
    place = {claim.ref: index for index, claim in enumerate(right)}
    wordy = [index for index, claim in enumerate(right) if not claim.demands]
    for claim in left:
        # A claim with demands is compared by them; only those without need its words.
        columns = wordy if claim.demands else list(range(len(right)))
        cosines = (rows[columns] @ rows[place[claim.ref]].T).toarray().ravel()
        near = sorted(
            (-cosine, right[at].ref, at) for cosine, at in zip(cosines, columns, strict=True) if cosine >= ALIKE
        )
        kept = [right[at] for _, _, at in near if _open_to_words(claim, right[at])]
        yield from ((claim.ref, other.ref) for other in kept[:MOST_ALIKE])


def _open_to_words(one: Claim, two: Claim) -> bool:
    return may_meet(one, two) and not same_finding(one, two)


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text[:LONGEST]).casefold().split())
