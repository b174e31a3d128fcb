"""Networks of brokers to which things happen at random, and what must have been delivered in the end.

``making`` draws worlds (schemas, documents, subscriptions), graphs and scenarios; ``delivery`` lets a scenario happen
and judges it by a matcher of its own; ``checking`` is one trial.
"""
