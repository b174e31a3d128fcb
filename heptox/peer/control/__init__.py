"""The control API and those who use it: service, server, client, the administrator with and without a daemon."""
