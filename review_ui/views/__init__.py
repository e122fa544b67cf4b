"""Finished, typed values for templates, made by pure functions from rows and payloads."""
