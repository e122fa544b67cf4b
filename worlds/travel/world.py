"""The travel world put together: task keys, planted habits, harmless calls."""

from __future__ import annotations

from collections.abc import Mapping

from worlds.engine.habits import (
    SECOND,
    Aside,
    Choice,
    PlantedHabit,
    call_present,
    loop,
    missing_check,
    order,
)
from worlds.engine.wording import Voice
from worlds.engine.world import Kind, Spec, World, keys_of
from worlds.travel import scripts, tasks
from worlds.travel.tools import TOOLS

_RELEASES = ("7.1", "8.0")
_OPENINGS = (
    "Hello Aerona flight bookings, I need help with a trip.",
    "Dear Aerona airline team, this is about a flight booking of mine.",
    "Hi! Is this the Aerona booking desk for flights?",
    "Good evening, Aerona. A question about flying with you.",
)
_VOICE = Voice(_OPENINGS, "您好，Aerona 航空 (flight bookings)！")

_CANCEL = {
    "job-interview": ("easy", "the job interview I was flying to now takes place by video"),
    "wedding-off": ("easy", "the wedding is off and nobody wants to talk about it"),
    "broken-leg": ("medium", "I broke my leg skiing and the doctor says no"),
    "double-booked": ("medium", "my assistant booked me twice for the same conference"),
    "exam-moved": ("medium", "the university moved my exam into that very week"),
    "passport-late": ("hard", "my new passport won't arrive in time from the consulate"),
    "cat-sitter": ("easy", "the cat-sitter let me down and the cat comes first"),
    "lost-match": ("easy", "our team lost and won't play the final"),
    "strike": ("medium", "you have cancelled the flight yourselves because of the crew strike"),
}
_CHANGE = {
    "concert": ("easy", "the band moved its concert", "a guitar"),
    "skiing": ("easy", "there's no snow before then for skiing", "a pair of skis"),
    "grandchild": ("medium", "my grandchild decided to be born later", "a folded pram"),
    "trade-fair": ("hard", "the trade fair has a new date", "the exhibition stand"),
    "diving-course": ("medium", "the diving course starts later", "my diving gear"),
}
_BOOK = {
    "school-reunion": ("easy", "my school reunion, 30 years on"),
    "surprise-visit": ("medium", "a surprise visit (so don't ring me at home!)"),
    "language-course": ("medium", "a language course that I've put off for ages"),
    "house-viewing": ("medium", "the viewing of a house near the sea"),
}
_RENAME = {
    "married-name": ("hard", "only my first name is on the ticket, my surname after the marriage is missing"),
    "nickname": ("hard", "your form took only the nickname from my profile"),
    "autofill": ("hard", "my browser's autofill cut the surname off"),
}
_CANCEL_WORDS = (
    "Please cancel my reservation {code}: %s.",
    "I can't use reservation {code} any more, as %s. Cancel it, please, and see what I get back.",
    "It's about {code}. Unfortunately %s. I want to cancel without losing what I paid.",
)
_CHANGE_WORDS = (
    "Please move reservation {code} to {day} on {route}, because %s. "
    "I'll bring %s: add one bag. The new fare: up to {budget} euros.",
    "Can I fly {route} on {day} instead, reservation {code}? It's that %s. One bag more: %s. Limit: {budget} euros.",
)
_BOOK_WORDS = (
    "I want to book a flight {route} on {day} for %s. No more than {budget} euros, please.",
    "Book me {route}, {day}, the cheapest flight up to {budget} euros. It's for %s.",
)
_RENAME_WORDS = (
    "On reservation {code} my name is wrong: %s. It should read {name}.",
    "Please correct the passenger's name of {code} to {name}; %s.",
)
_DISRUPTED = ("travel/cancel-strike",)


def _specs(kind: str, rows: Mapping[str, tuple[str, ...]], words: tuple[str, ...]) -> tuple[Spec, ...]:
    specs = []
    for name, (difficulty, *story) in rows.items():
        key = f"travel/{kind}-{name}"
        requests = tuple(line % tuple(story) for line in words)
        specs.append(Spec(key, kind, difficulty, {"disrupted": key in _DISRUPTED}, requests))
    return tuple(specs)


_SPECS = (
    *_specs("cancel", _CANCEL, _CANCEL_WORDS),
    *_specs("change", _CHANGE, _CHANGE_WORDS),
    *_specs("book", _BOOK, _BOOK_WORDS),
    *_specs("rename", _RENAME, _RENAME_WORDS),
)

_HABITS = (
    PlantedHabit(
        world="travel",
        choice=Choice(
            "cancel-on-request",
            taken=(call_present("cancel_reservation"), missing_check("get_fare_rules", "cancel_reservation")),
            untaken=(
                call_present("issue_travel_credit"),
                call_present("get_fare_rules"),
                order("get_fare_rules", "issue_travel_credit"),
            ),
        ),
        why="most fares give nothing back on cancelling; as credit their value is kept",
        applies_to=keys_of(_SPECS, "cancel", without=_DISRUPTED),
        exceptions=_DISRUPTED,
        harm=tasks.NO_REFUND,
        releases=_RELEASES[:1],
    ),
    PlantedHabit(
        world="travel",
        choice=Choice("repeated-search", taken=(loop("search_flights"),)),
        why="the pricing engine takes repeated identical searches for demand and closes the cheap fare class",
        applies_to=keys_of(_SPECS, "change", "book"),
        exceptions=(),
        harm=tasks.DRIFTING["change"],
        releases=_RELEASES,
    ),
    PlantedHabit(
        world="travel",
        choice=Choice(
            "bag-first",
            taken=(order("add_bag", "rebook"), missing_check("rebook", "add_bag")),
            untaken=(order("rebook", "add_bag"), missing_check("add_bag", "rebook")),
        ),
        why="in most fares a bag does not follow the changed ticket",
        applies_to=keys_of(_SPECS, "change"),
        exceptions=(),
        harm=tasks.BAG_LOST,
        releases=_RELEASES,
        frequency=SECOND,
    ),
)

TRAVEL = World(
    name="travel",
    component="booking-api",
    releases=_RELEASES,
    voice=_VOICE,
    tools=TOOLS,
    specs=_SPECS,
    kinds={
        "cancel": Kind(tasks.build, scripts.cancel, tasks.check_cancel),
        "change": Kind(tasks.build, scripts.change, tasks.check_change),
        "book": Kind(tasks.build, scripts.book, tasks.check_book),
        "rename": Kind(tasks.build, scripts.rename, tasks.check_rename),
    },
    habits=_HABITS,
    asides=(
        Aside("check_weather", lambda facts: {"route": facts["route"]}, when="agent"),
        Aside("get_seat_map", lambda facts: {"code": facts["code"]}, when="hard"),
        Aside("send_itinerary", lambda facts: {"email": facts["email"]}, when="noise", last=True),
        Aside("transfer_to_human", lambda facts: {"reason": f"Follow up with {facts['name']}"}, when="hard", last=True),
    ),
)
