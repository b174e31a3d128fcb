"""Published documents between peers: subscriptions of a peer's folder, feeds over links, subscriptions in own words."""
