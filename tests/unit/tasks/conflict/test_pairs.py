"""Which claims are compared: by what they ask for, and by their words where nothing else tells."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tasks.conflict.claims import Claim, compare
from tasks.conflict.judge import Judgement
from tasks.conflict.pairs import MOST_FOUND, find
from tasks.contrast.predicate import Predicate

CALLS = ("a", "b", "c", "d")
PREDICATES = st.one_of(
    st.builds(
        lambda x, d: Predicate("call-present", (x,), d), st.sampled_from(CALLS), st.sampled_from(["do", "avoid"])
    ),
    st.builds(
        lambda pair, d, kind: Predicate(kind, tuple(pair), d),
        st.lists(st.sampled_from(CALLS), min_size=2, max_size=2, unique=True),
        st.sampled_from(["do", "avoid"]),
        st.sampled_from(["order", "missing-check"]),
    ),
)
CLAIMS = st.lists(st.tuples(PREDICATES, st.sampled_from(["f", "g"])), min_size=1, max_size=8)


def claims(drawn: Sequence[tuple[Predicate, str]]) -> list[Claim]:
    return [Claim(f"candidate:{n}", p.canonical(family), {}, f"advice {n}") for n, (p, family) in enumerate(drawn)]


def wordy(ref: str, text: str, family: str = "f") -> Claim:
    return Claim(ref, {"family": family} if family else {}, {}, text, text)


@given(CLAIMS)
def test_the_index_finds_what_comparing_every_pair_would_find(drawn: list[tuple[Predicate, str]]) -> None:
    made = claims(drawn)
    found = {(ref, hit.right): hit.form for ref, hits in find(made, []).items() for hit in hits}
    every = {(one.ref, two.ref): hit.form for one in made for two in made if (hit := compare(one, two))}
    assert found == every


@given(CLAIMS, st.randoms(use_true_random=False))
def test_what_is_found_is_symmetric_and_does_not_depend_on_the_order(drawn, shuffler) -> None:
    made = claims(drawn)
    mixed = list(made)
    shuffler.shuffle(mixed)
    found = find(made, [])
    assert found == {ref: find(mixed, [])[ref] for ref in found}
    pairs = {(hit.left, hit.right) for hits in found.values() for hit in hits}
    assert {(right, left) for left, right in pairs} == pairs


def test_a_claim_is_only_compared_with_what_speaks_of_the_same(monkeypatch) -> None:
    import tasks.conflict.pairs as pairs

    seen: list[tuple[str, str]] = []

    def counting(left: Claim, right: Claim):
        seen.append((left.ref, right.ref))
        return compare(left, right)

    monkeypatch.setattr(pairs, "compare", counting)
    mine = [
        Claim(f"candidate:{n}", Predicate("call-present", (f"c{n}",), "do").canonical("f"), {}, "") for n in range(2000)
    ]
    against = Claim("rule:r@1", Predicate("call-present", ("c7",), "avoid").canonical("f"), {}, "")
    found = find(mine, [against])
    assert [hit.right for hit in found["candidate:7"]] == ["rule:r@1"]
    assert len(seen) == 1


def test_a_flood_of_conflicts_is_cut_to_the_gravest() -> None:
    mine = Claim("candidate:me", Predicate("missing-check", ("x", "y"), "avoid").canonical("f"), {}, "")
    asked, forbidden = (Predicate("call-present", ("x",), direction).canonical("f") for direction in ("do", "avoid"))
    others = [Claim(f"candidate:{n:03}", forbidden if n == 77 else asked | {"n": n}, {}, "") for n in range(100)]
    found = find([mine], others)["candidate:me"]
    assert len(found) == MOST_FOUND
    assert (found[0].right, found[0].kind) == ("candidate:077", "contradiction")


ENGLISH = (
    "Before you cancel a booking, read the fare rules of the ticket.",
    "Read the ticket's fare rules before you cancel a booking.",
)
CHINESE = ("取消订单之前,先查看票价规则。", "先查看票价规则,然后再取消订单。")
OTHER = ("Greet the customer by name and be brief.", "称呼客户的名字,回答要简短。")


def test_texts_in_other_words_are_proposed_in_any_script_and_never_block() -> None:
    mine = [wordy("candidate:en", ENGLISH[0]), wordy("candidate:zh", CHINESE[0])]
    others = [wordy("rule:en@1", ENGLISH[1]), wordy("rule:zh@1", CHINESE[1]), wordy("rule:x@1", OTHER[0]),
              wordy("rule:y@1", OTHER[1])]  # fmt: skip
    found = find(mine, others)
    assert [(hit.right, hit.kind, hit.supersedes) for hit in found["candidate:en"]] == [("rule:en@1", "overlap", False)]
    assert [(hit.right, hit.kind, hit.supersedes) for hit in found["candidate:zh"]] == [("rule:zh@1", "overlap", False)]
    assert "may say the same" in found["candidate:en"][0].detail


def test_alike_texts_of_claims_that_can_be_compared_are_left_to_their_predicates() -> None:
    one = Claim("candidate:1", Predicate("call-present", ("cancel_order",), "avoid").canonical("f"), {}, "", ENGLISH[0])
    two = Claim("candidate:2", Predicate("call-present", ("cancel_flight",), "do").canonical("f"), {}, "", ENGLISH[0])
    assert find([one, two], []) == {"candidate:1": [], "candidate:2": []}


def test_alike_texts_of_other_families_or_disjoint_scopes_are_no_pair() -> None:
    mine = wordy("candidate:1", ENGLISH[0])
    elsewhere = wordy("rule:a@1", ENGLISH[1], family="g")
    ended = Claim("rule:b@1", {"family": "f"}, {"valid_to": "2026-01-01"}, "", ENGLISH[1])
    begun = Claim("candidate:2", {"family": "f"}, {"valid_from": "2026-06-01"}, "", ENGLISH[0])
    assert find([mine], [elsewhere])["candidate:1"] == []
    assert find([begun], [ended])["candidate:2"] == []


class ByNegation:
    """A judge that reads one language a little: of two alike texts, one that says "never" contradicts the other."""

    name = "by negation"

    def judge(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Judgement]:
        return [self._one(*pair) for pair in pairs]

    def _one(self, one: str, two: str) -> Judgement:
        if ("never" in one.lower()) != ("never" in two.lower()):
            return Judgement("contradiction", "one forbids what the other asks for")
        return (
            Judgement("duplicate") if set(one.lower().split()) == set(two.lower().split()) else Judgement("unrelated")
        )


def test_a_judge_decides_what_alike_texts_are_to_each_other() -> None:
    text = "Cancel the booking when the customer asks for it."
    mine = [wordy("candidate:1", text)]
    others = [wordy("rule:no@1", "Never cancel the booking when the customer asks for it."),
              wordy("rule:same@1", "When the customer asks for it. cancel the booking"),
              wordy("rule:near@1", "Cancel the booking when the airline asks for it.")]  # fmt: skip
    found = {hit.right: (hit.kind, hit.detail) for hit in find(mine, others, ByNegation())["candidate:1"]}
    assert {ref: kind for ref, (kind, _) in found.items()} == {"rule:no@1": "contradiction", "rule:same@1": "duplicate"}
    assert found["rule:no@1"][1].startswith("by negation judged: one forbids what the other asks for")
