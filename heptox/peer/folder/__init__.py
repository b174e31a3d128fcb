"""A peer's folder: its settings, documents, export policy, audit log, the offers that wait."""
