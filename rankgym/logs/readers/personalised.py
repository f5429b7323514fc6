"""The log of the personalised web search challenge (Yandex, 2013): tab-separated lines of sessions, queries, clicks.

    SessionID M Day USERID
    SessionID TimePassed Q|T SERPID QueryID Terms URL1,Domain1 ... URL10,Domain10
    SessionID TimePassed C SERPID URLID

A click belongs to the latest page of the session with its SERPID, if that shows its URL; repeated clicks count once.
Lines T are the test queries of the challenge (in a file of their own, with the queries of the same sessions). Their
clicks were withheld, and the result that the user clicked on is what the challenge asked for, so that they are not
sessions without clicks: they are left out, and counted in the report.
"""

from rankgym.logs.readers.pages import Layout

PERSONALISED = Layout(
    query=4,
    documents=6,
    page=3,
    clicked=4,
    pairs=True,
    more=True,
    form=(
        "SessionID M Day USERID, SessionID TimePassed Q SERPID QueryID Terms URL,Domain ... or "
        "SessionID TimePassed C SERPID URLID, separated by tabs"
    ),
)
