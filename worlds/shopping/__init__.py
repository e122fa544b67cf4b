"""Lindenmarkt, an online shop: exchanges, orders, replacements, returns."""

from worlds.shopping.world import SHOPPING

__all__ = ["SHOPPING"]
