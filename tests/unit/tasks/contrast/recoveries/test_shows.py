"""Whether a single session shows what many were compared for."""

from __future__ import annotations

from tasks.contrast.predicate import Predicate
from tasks.contrast.recoveries import with_recoveries
from tasks.contrast.recoveries.attempts import read_chains
from tasks.contrast.recoveries.shows import shows

from .sessions import bash, steps

CHAINS = read_chains(
    steps(bash("mvn test", 1, "cannot resolve project orbit today"), bash("mvn install -q"), bash("mvn test"))
)


def test_blanks_of_a_signature_stand_for_anything() -> None:
    for error in ("cannot resolve project … today", "cannot resolve project orbit today"):
        assert shows(Predicate("recovery", ("mvn test", error, "mvn install")), CHAINS)
        assert shows(Predicate("recovery", ("mvn test", error, "mvn install -q")), CHAINS)


def test_another_error_another_command_or_another_act_does_not_show_it() -> None:
    error = "cannot resolve project … today"
    assert not shows(Predicate("recovery", ("mvn test", "cannot resolve … tomorrow", "mvn install")), CHAINS)
    assert not shows(Predicate("recovery", ("mvn", error, "mvn install")), CHAINS)
    assert not shows(Predicate("recovery", ("mvn test", error, "ls")), CHAINS)


def test_recoveries_share_the_night_s_alpha_with_the_families_and_have_it_alone_where_there_are_none() -> None:
    assert with_recoveries({"a": 8, "b": 4}, {"a", "b"}) == {"a": 8, "b": 4}
    assert with_recoveries({"a": 8, "b": 4}, {"a", "b", "*"}) == {"a": 8, "b": 4, "*": 3}
    assert with_recoveries({}, {"*"}) == {"*": 1}
