"""Three small deterministic tool worlds with scripted agents: for the demo, for load, for experiments.

Pure and on its own: no clock, no files, no imports from other packages of ours. ``generate`` gives episodes,
``planted`` the truth about the bad habits in them; ``WORLDS`` with ``run`` and ``replay`` are for experiments that
need a single task, a forced choice or a state rebuilt from calls.
"""

from worlds.engine.habits import Choice, PlantedHabit, Predicate
from worlds.engine.policies import POLICIES, Policy
from worlds.engine.rules import FixedMemory, Memory, Rule
from worlds.engine.run import Run, Setting, calls_that_ran, replay, run
from worlds.engine.world import Task, Verdict, World
from worlds.generate import WORLDS, generate, planted

__all__ = [
    "POLICIES",
    "WORLDS",
    "Choice",
    "FixedMemory",
    "Memory",
    "PlantedHabit",
    "Policy",
    "Predicate",
    "Rule",
    "Run",
    "Setting",
    "Task",
    "Verdict",
    "World",
    "calls_that_ran",
    "generate",
    "planted",
    "replay",
    "run",
]
