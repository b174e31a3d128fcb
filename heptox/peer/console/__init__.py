"""The console: a page in the browser by which an administrator draws mappings, asks, and watches.

It is served by the control API, at ``/console/``, and talks to nothing else.
"""

from heptox.peer.console.drawings import Drawings as Drawings
from heptox.peer.console.operations import add_console as add_console
from heptox.peer.console.pages import is_page as is_page
from heptox.peer.console.sessions import SESSIONS as SESSIONS, Sessions as Sessions
