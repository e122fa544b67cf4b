"""What a page refuses, each with the status and words of its answer."""

from __future__ import annotations

from review_ui.words import N_


class PageRefused(Exception):
    """A request was refused: what happened, and what to do now. ``title`` is translated where it is shown."""

    status = 400
    title = N_("That did not work")

    def __init__(self, what: str, now: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.now = now


class LoginNeeded(PageRefused):
    """Nobody is logged in; the reader is sent to the login page and comes back after it."""

    status = 303
    title = N_("Log in first")


class NotFound(PageRefused):
    """There is no such thing, or it lies outside the viewer's namespaces: the two are never told apart."""

    status = 404
    title = N_("Not found")


class NotYours(PageRefused):
    """The viewer's role does not cover this act."""

    status = 403
    title = N_("Not allowed")


class ForeignForm(PageRefused):
    """A form did not come from a page of ours for this session."""

    status = 403
    title = N_("This form was not accepted")


class TooManyTries(PageRefused):
    """Too many failed logins for this name from this browser or address."""

    status = 429
    title = N_("Too many tries")


class TooManyStreams(PageRefused):
    """This person watches as many runs live as one may."""

    status = 429
    title = N_("Too many live pages")


class Crowded(TooManyStreams):
    """As many people watch runs live as may."""

    status = 503
