"""What judges filters on parts of documents: random schemas, documents and filters, and two judges of whole documents.

``making`` draws schemas and documents, inside their schema and outside; ``spelling`` writes a document in other ways
that mean the same; ``filters`` draws XPath filters; ``judging`` asks lxml and elementpath what they give.
"""
