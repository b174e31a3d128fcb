"""Programs of operators: made at random, carried out slowly, and compared."""
