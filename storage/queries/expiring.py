"""Which namespaces have rules whose scope names an end."""

from __future__ import annotations

from sqlmodel import Session, col, select

from storage.tables import RuleVersion


def namespaces_with_ends(session: Session) -> list[str]:
    """The namespaces that have an active version whose scope names an end."""
    end = col(RuleVersion.content)["scope"]["valid_to"].as_string()
    statement = select(RuleVersion.namespace).where(RuleVersion.state == "active", end.is_not(None))
    return sorted(session.exec(statement.distinct()))
