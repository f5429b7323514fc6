"""The log of the relevance prediction challenge (Yandex, 2011): tab-separated lines of queries and of clicks.

    SessionID TimePassed Q QueryID RegionID URL1 ... URL10
    SessionID TimePassed C URLID

A session may hold several query lines; each is a result page of its own. A click belongs to the latest query of the
session that shows its URL; repeated clicks count once. Lines of a session stand together: if its number comes back
later, it is a new session.
"""

from rankgym.logs.readers.pages import Layout

RELEVANCE = Layout(
    query=3,
    documents=5,
    page=-1,
    clicked=3,
    pairs=False,
    more=False,
    form="SessionID TimePassed Q QueryID RegionID URL1 ... or SessionID TimePassed C URLID, separated by tabs",
)
