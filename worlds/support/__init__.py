"""Brightline, a broadband provider's help desk: lines that are down, wrong charges, changes of contact."""

from worlds.support.world import SUPPORT

__all__ = ["SUPPORT"]
