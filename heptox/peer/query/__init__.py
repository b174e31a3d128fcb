"""The pure peer: a query comes in, instructions come out, with neither clock nor network."""
