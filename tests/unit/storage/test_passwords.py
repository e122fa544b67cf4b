"""Passwords are kept as argon2id hashes."""

from __future__ import annotations

from storage.passwords import hash_password, verify_password


def test_the_right_password_is_right_and_another_is_wrong() -> None:
    stored = hash_password("correct horse")
    assert stored.startswith("$argon2id$")
    assert verify_password(stored, "correct horse")
    assert not verify_password(stored, "Correct horse")


def test_the_same_password_is_never_stored_alike() -> None:
    assert hash_password("correct horse") != hash_password("correct horse")


def test_nobody_is_never_right() -> None:
    assert not verify_password(None, "no account has this password")


def test_a_broken_hash_is_wrong_rather_than_an_error() -> None:
    assert not verify_password("not a hash", "anything")
