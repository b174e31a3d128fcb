"""Which subscriptions a document matches, judged by those that nobody here wrote: elementpath, and lxml's XPath 1.0.

``conditions`` are subscriptions as syntax of their own, with printers; ``making`` draws small schemas, documents and
subscriptions; ``judging`` asks the judges; ``embedding`` is a third voice that reads tree patterns; ``engines`` names
what is checked; ``checking`` is one trial, and ``shrinking`` makes what it finds small.
"""
