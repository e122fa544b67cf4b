"""Aerona, an airline's booking desk: cancellations, changes of date, bookings, corrections of names."""

from worlds.travel.world import TRAVEL

__all__ = ["TRAVEL"]
