"""Recheck: every active rule is tested again, and what no longer holds is proposed for withdrawal."""
