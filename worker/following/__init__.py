"""``slowwave ingest --follow``: watch folders, read what is finished, remember what was read."""
