"""The demonstration: three hospitals under three schemas, their records, and the network that answers."""
