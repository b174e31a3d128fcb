"""Chunking measured: large documents and many filters, cut so that each set of filters runs on a small part."""
