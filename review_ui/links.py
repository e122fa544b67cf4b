"""Addresses of pages. Namespaces keep their slashes; ids are one segment."""

from __future__ import annotations

from urllib.parse import quote, urlencode, urlsplit


def candidate(namespace: str, candidate_id: str) -> str:
    """A candidate's page."""
    return f"/candidates/{quote(namespace)}/{quote(candidate_id, safe='')}"


def rule(namespace: str, rule_id: str) -> str:
    """A rule's page."""
    return f"/rules/{quote(namespace)}/{quote(rule_id, safe='')}"


def revoke(namespace: str, rule_id: str) -> str:
    """The preview of a revocation, and where its form is sent."""
    return f"{rule(namespace, rule_id)}/revoke"


def restore(namespace: str, rule_id: str, version: int) -> str:
    """Where the form that restores a quarantined version is sent."""
    return f"{rule(namespace, rule_id)}/versions/{version}/restore"


def episode(namespace: str, episode_id: str) -> str:
    """An episode's page."""
    return f"/episodes/{quote(namespace)}/{quote(episode_id, safe='')}"


def conflict(namespace: str, conflict_id: str) -> str:
    """A conflict's page."""
    return f"/conflicts/{quote(namespace)}/{quote(conflict_id, safe='')}"


def run(run_id: str) -> str:
    """A run's page."""
    return f"/runs/{quote(run_id, safe='')}"


def run_events(run_id: str) -> str:
    """The stream of how far a run is."""
    return f"{run(run_id)}/events"


def findings(run_id: str, kind: str) -> str:
    """Everything that a run concluded of one kind."""
    return f"{run(run_id)}/findings/{quote(kind, safe='')}"


def choices(run_id: str) -> str:
    """How a run took up each of its clusters."""
    return f"{run(run_id)}/choices"


def with_query(path: str, **values: str | int | None) -> str:
    """``path`` with the values that are set, as a query."""
    query = urlencode({key: value for key, value in values.items() if value not in (None, "")})
    return f"{path}?{query}" if query else path


def event(namespace: str, epoch: int) -> str:
    """An event's page."""
    return f"/events/{quote(namespace)}/{epoch}"


def local(address: str) -> str:
    """Path and query of an address that a browser sent; empty where it is none."""
    try:
        found = urlsplit(address)
    except ValueError:
        return ""
    return found.path + (f"?{found.query}" if found.query else "")
