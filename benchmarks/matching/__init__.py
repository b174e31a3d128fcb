"""One document against very many subscriptions: the workloads of the literature, and what matching them takes."""
