"""A daemon under attack at random: by its network, its control API, and what it is offered."""
