"""What peers say to each other, and how it travels: messages, offers, frames, streams, libp2p."""
