"""Whether a namespace has rules whose scope names an end."""

from __future__ import annotations

from sqlmodel import Session, col, select

from storage.tables import RuleVersion


def has_rule_with_end(session: Session, namespace: str) -> bool:
    """Whether it has an active version whose scope names an end."""
    end = col(RuleVersion.content)["scope"]["valid_to"].as_string()
    statement = select(RuleVersion.rule_id).where(RuleVersion.namespace == namespace, RuleVersion.state == "active")
    return session.exec(statement.where(end.is_not(None)).limit(1)).first() is not None
