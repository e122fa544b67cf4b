"""People and phrases: how the same request is worded by different customers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Person:
    """A customer; ``speaks`` is the language of their greeting (``en`` or ``zh``)."""

    name: str
    email: str
    speaks: str = "en"


PEOPLE: tuple[Person, ...] = (
    Person("Amara Okafor", "amara.okafor@mailbox.example"),
    Person("Zoë O’Brien", "zoe.obrien@mailbox.example"),
    Person("Łukasz Wójcik", "lukasz.w@poczta.example"),
    Person('Dolores "Dee" D\'Angelo', "dee.dangelo@mailbox.example"),
    Person("José Núñez", "jose.nunez@correo.example"),
    Person("Ingrid Sæther", "ingrid.saether@post.example"),
    Person("Farid Haddad", "farid.haddad@mailbox.example"),
    Person("Mei-Ling Tan", "meiling.tan@mailbox.example"),
    Person("Oluwaseun Adeyemi", "seun.adeyemi@mailbox.example"),
    Person("Priya Raghunathan", "priya.r@mailbox.example"),
    Person("Thomas Müller-Lüdenscheidt", "t.mueller@post.example"),
    Person("Siobhán Ní Dhomhnaill", "siobhan@post.example"),
    Person("Kwame Boateng", "kwame.b@mailbox.example"),
    Person("Hana Suzuki", "hana.suzuki@mailbox.example"),
    Person("Marta Kovačević", "marta.k@posta.example"),
    Person("Ruth Abernathy", "ruth.abernathy@mailbox.example"),
    Person("Diego Fuentes", "diego.fuentes@correo.example"),
    Person("Noor van der Berg", "noor.vdberg@post.example"),
    Person("Elif Yıldız", "elif.yildiz@posta.example"),
    Person("Samir Ben Youssef", "samir.by@mailbox.example"),
    Person("Grace Whitlock", "grace.whitlock@mailbox.example"),
    Person("Anatoly Petrov", "a.petrov@pochta.example"),
    Person("林小雨", "lin.xiaoyu@youxiang.example", "zh"),
    Person("陈志远", "chen.zhiyuan@youxiang.example", "zh"),
)

CLOSINGS: tuple[str, ...] = (
    "Thank you!",
    "Thanks in advance 🙏",
    "Could you sort this out today, please?",
    "I'd appreciate your help.",
    "That's all, thanks.",
    "Cheers & best wishes",
)


@dataclass(frozen=True, slots=True)
class Voice:
    """How customers of one world open a conversation. Every opening names the shop and asks for its desk."""

    openings: tuple[str, ...]
    chinese: str

    def speak(self, rng: random.Random, person: Person, request: str) -> str:
        """The first text of a conversation: greeting, who it is, the request, a closing."""
        closing = rng.choice(CLOSINGS)
        if person.speaks == "zh":
            return f"{self.chinese}我是{person.name}（{person.email}）。{request} 谢谢！"
        return f"{rng.choice(self.openings)} This is {person.name} ({person.email}). {request} {closing}"


def number(rng: random.Random, prefix: str, low: int = 10_000, high: int = 99_999) -> str:
    """A record id such as ``L48213``."""
    return f"{prefix}{rng.randint(low, high)}"


def two(rng: random.Random, values: Sequence[str]) -> tuple[str, str]:
    """Two different values."""
    first, second = rng.sample(values, 2)
    return first, second
