"""What every process of a peer needs: retries, timers, limits, workers, supervision."""
