"""What the control API takes and says: the service returns it, the client parses it, commands print it."""
