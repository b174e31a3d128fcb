"""What a peer reports of itself: audit lines, log lines, metrics, stalls."""
