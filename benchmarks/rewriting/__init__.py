"""Rewriting measured: 40 schemas of course catalogues, and documents that go from router to router in four ways."""
