"""Rewriting measured: streams, and documents of 40 schemas that go from router to router in four ways."""
