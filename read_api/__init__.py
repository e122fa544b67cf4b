"""The agents' side: a read-only trust boundary. Its door is ``read_api.app.create_app``."""
