"""What peers say to each other, and how it travels: messages, offers, frames, streams, libp2p.

libp2p is imported without its :mod:`parts that nobody uses here <heptox.peer.wire.unused_parts>`.
"""

from heptox.peer.wire.unused_parts import leave_out

leave_out()
