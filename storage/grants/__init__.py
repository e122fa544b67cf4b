"""Who may do what in the database itself, on PostgreSQL: roles come from ``slowwave db grants``, not migrations."""

from storage.grants.apply import NotPostgres, applied, apply, check, drop_reader, statements
from storage.grants.roles import LOGINS, Login

__all__ = ["LOGINS", "Login", "NotPostgres", "applied", "apply", "check", "drop_reader", "statements"]
