"""Tool worlds that nobody wrote down: each is invented from a seed, with its truth.

``invent`` gives the world, its agents and the manners of its logs; ``generate`` a stream of its episodes.
"""

from worlds.invented.plan import Invented, Manners, invent
from worlds.invented.stream import generate

__all__ = ["Invented", "Manners", "generate", "invent"]
