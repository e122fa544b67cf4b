"""Private. The public names are those of ``slowwave_client``."""
