"""Text and syntax: the query fragment, arrows and rules; lowering to patterns and printing as XQuery."""
