"""The page in a real browser: slider, keys, buttons, links to a round; and nothing in its console.

The browser is driven by its own protocol over tornado's web socket (a part of the extra ``distributed``).
"""

import asyncio
import contextlib
import json
import shutil
import subprocess
import time

import pytest

from rankgym.experiments.watch.episode import watch
from rankgym.experiments.watch.page import write_page

websocket = pytest.importorskip("tornado.websocket", reason="no tornado here to talk to a browser")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine"),
]
PATIENCE = 60  # seconds, for a browser on a busy machine
KEYS = {
    "ArrowLeft": 37,
    "ArrowRight": 39,
    "PageUp": 33,
    "PageDown": 34,
    "Home": 36,
    "End": 35,
    " ": 32,
    "n": 78,
    "p": 80,
}


class Page:
    """A page in the browser, by the Chrome DevTools protocol; ``faults`` is what its console says."""

    def __init__(self, socket):
        self.socket, self.number, self.faults = socket, 0, []

    async def call(self, method, **parameters):
        self.number += 1
        await self.socket.write_message(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            said = json.loads(await asyncio.wait_for(self.socket.read_message(), PATIENCE))
            if said.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
                self.faults.append(said["params"])
            if said.get("id") == self.number:
                assert "error" not in said, said
                return said["result"]

    async def value(self, expression):
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def press(self, key):
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            await self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=KEYS[key], **text)
        return await self.round()

    async def round(self):
        return int(await self.value("document.body.dataset.round"))

    async def open(self, url):
        await self.call("Page.navigate", url="about:blank")
        await self.call("Page.navigate", url=url)
        end = time.monotonic() + PATIENCE
        while await self.value("document.readyState + location.href.startsWith('file')") != "completetrue":
            assert time.monotonic() < end
            await asyncio.sleep(0.05)


async def ended(socket):
    """Close a connection, and wait until it is."""
    socket.close()
    while await asyncio.wait_for(socket.read_message(), PATIENCE) is not None:
        pass


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Address of a browser's control, for all tests of this file."""
    profile = tmp_path_factory.mktemp("browser")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
    process = subprocess.Popen(
        [*command, f"--user-data-dir={profile}", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        end, file = time.monotonic() + PATIENCE, profile / "DevToolsActivePort"
        while not file.exists() or len(file.read_text().split()) < 2:
            assert process.poll() is None, "the browser did not start"
            assert time.monotonic() < end, "the browser did not start"
            time.sleep(0.05)
        port, path = file.read_text().split()
        yield f"ws://127.0.0.1:{port}", path
    finally:
        process.kill()
        process.wait()


@contextlib.asynccontextmanager
async def empty_page(address, path):
    """Open an empty page, with nothing kept of other pages."""
    socket = await websocket.websocket_connect(address + path)
    control = Page(socket)
    try:
        context = (await control.call("Target.createBrowserContext"))["browserContextId"]
        target = await control.call("Target.createTarget", url="about:blank", browserContextId=context)
        inner = await websocket.websocket_connect(f"{address}/devtools/page/{target['targetId']}")
        try:
            page = Page(inner)
            for domain in ("Page", "Runtime", "Log"):
                await page.call(f"{domain}.enable")
            yield page
        finally:
            await ended(inner)
            await control.call("Target.disposeBrowserContext", browserContextId=context)
    finally:
        await ended(socket)


@pytest.fixture
def browse(browser):
    """Run ``look(page)`` on a page of its own; nothing may appear in the console."""

    async def all_of_it(look):
        async with empty_page(*browser) as page:
            await look(page)
            assert page.faults == []

    return lambda look: asyncio.run(all_of_it(look))


@pytest.fixture(scope="module")
def episode():
    return watch("PBM-Yandex-v0", ["toprank", "cascade-kl-ucb"], rounds=3000, query=3, progress=False)


@pytest.fixture
def url(episode, tmp_path):
    write_page(episode, tmp_path / "watch.html")
    return (tmp_path / "watch.html").as_uri()


LIST = (
    "[...document.querySelectorAll('.card')].map(c => [...c.querySelectorAll('table')[0].querySelectorAll('tbody tr')]"
)
LIST += ".map(r => +r.querySelector('.item').textContent))"
CLICKS = LIST.replace("+r.querySelector('.item').textContent", "r.querySelector('.click') !== null")
BLOCKS = "[...document.querySelectorAll('.card')[0].querySelectorAll('.block')]"
BLOCKS += ".map(b => [...b.children].map(i => +i.textContent))"


def test_keys_slider_and_buttons_show_the_right_round(episode, url, browse):
    shown = episode.shown
    split = episode.agents[0].changes[0].round

    async def look(page):
        await page.open(f"{url}#round=123")
        place = max(place for place, number in enumerate(shown) if number <= 123)
        assert await page.round() == shown[place]
        assert await page.press("ArrowRight") == shown[place + 1]
        assert await page.press("ArrowLeft") == shown[place]
        assert await page.press("PageDown") == shown[place + 10]
        assert await page.press("PageUp") == shown[place]
        assert await page.press("Home") == 1
        assert await page.press("ArrowLeft") == 1
        assert await page.press("n") == split
        assert await page.press("p") == split  # none is before
        assert await page.press("End") == 3000
        assert await page.value("location.hash") == "#round=3000"
        await page.value("$('slider').value = 7; $('slider').dispatchEvent(new Event('input'))")
        assert await page.round() == shown[7]
        assert await page.value("$('slider').getAttribute('aria-valuetext')") == f"round {shown[7]} of 3,000"
        await page.value(f"document.querySelector('.changes button[data-round=\"{split}\"]').click()")
        assert await page.round() == split
        assert await page.value("document.querySelector('[aria-current]').textContent") == (
            f"round {split:,}: {episode.agents[0].changes[0].text}"
        )
        await page.value("$('on').click()")
        assert await page.round() == shown[shown.index(split) + 1]
        await page.value("$('number').focus(); $('number').value = 50")
        await page.value("$('number').dispatchEvent(new Event('change'))")
        assert await page.round() == 50
        for typed, there in (("6e1", 60), ("2.5", 60), ("-3", 60), ("123", max(r for r in shown if r <= 123))):
            await page.value(f"$('number').value = '{typed}'")
            await page.value("$('number').dispatchEvent(new Event('change'))")
            assert await page.round() == there
            assert await page.value("$('number').value") == str(there)

    browse(look)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (
            "123",
            "Round 123 is not among the {shown} rounds shown. This is round {round}, the last one shown before it.",
        ),
        (
            "3001",
            "There is no round 3,001; allowed: 1 to 3,000, such as “#round=3000” in the address. This is round 3,000.",
        ),
        ("0", "There is no round 0; allowed: 1 to 3,000, such as “#round=1” in the address. This is round 1."),
        ("1e2%", "“1e2%” is not a round; allowed: 1 to 3,000, such as “#round=1” in the address. This is round 1."),
        ("50", ""),
    ],
)
def test_an_address_that_is_not_shown_is_said_and_corrected(episode, url, browse, address, said):
    async def look(page):
        await page.open(f"{url}#round={address}")
        number = await page.round()
        assert await page.value("location.hash") == f"#round={number}"
        expected = said.format(shown=len(episode.shown), round=number)
        assert await page.value("$('moved').textContent") == expected
        assert await page.value("$('moved').hidden") == (said == "")
        await page.press("ArrowRight")
        assert await page.value("$('moved').hidden")

    browse(look)


def test_the_latest_change_is_in_view_and_the_page_stays_where_it_is(episode, url, browse):
    rounds = [change.round for change in episode.agents[0].changes]
    assert len(rounds) > 10  # more than the list has room for
    visible = (
        "(() => {const b = document.querySelector('.latest').getBoundingClientRect();"
        "const l = document.querySelector('.changes').getBoundingClientRect();"
        "return b.top >= l.top - 1 && b.bottom <= l.bottom + 1})()"
    )

    async def look(page):
        await page.open(f"{url}#round={rounds[0]}")
        await page.value("scrollTo(0, 300)")
        before = await page.value("scrollY")
        for place in (*range(0, len(episode.shown), 17), len(episode.shown) - 1):
            await page.value(f"go({place})")
            past = sum(number <= episode.shown[place] for number in rounds)
            assert await page.value("document.querySelectorAll('.latest').length") == (past > 0)
            if past:
                assert (
                    await page.value(
                        "[...document.querySelectorAll('.changes button')].indexOf(document.querySelector('.latest'))"
                    )
                    == past - 1
                )
                assert await page.value(visible)
            assert await page.value("scrollY") == before

    browse(look)


def test_the_page_shows_lists_clicks_and_blocks_of_the_round(episode, url, browse):
    async def look(page):
        for place in (0, 50, episode.shown.index(episode.agents[0].changes[-1].round), -1):
            await page.open(f"{url}#round={episode.shown[place]}")
            scenes = [agent.scenes[place] for agent in episode.agents]
            assert await page.value(LIST) == [[one.item for one in scene.displayed] for scene in scenes]
            assert await page.value(CLICKS) == [[one.clicked for one in scene.displayed] for scene in scenes]
            assert await page.value(BLOCKS) == [list(block) for block in episode.agents[0].beliefs[place].blocks]
            alternative = await page.value("document.querySelector('#curves').getAttribute('aria-label')")
            assert f"After round {episode.shown[place]:,}: toprank " in alternative
            spoken = await page.value("document.querySelector('[role=status]').textContent")
            assert f"toprank: list {', '.join(str(one.item) for one in scenes[0].displayed)};" in spoken

    browse(look)


def test_space_plays_and_pauses(episode, url, browse):
    async def look(page):
        await page.open(url)
        assert await page.value("$('play').textContent") == "Play"
        await page.press(" ")
        assert await page.value("$('play').textContent") == "Pause"
        end = time.monotonic() + PATIENCE
        while await page.round() == 1:
            assert time.monotonic() < end
            await asyncio.sleep(0.05)
        await page.press(" ")
        assert await page.value("$('play').textContent") == "Play"

    browse(look)


@pytest.mark.parametrize("name", ["Dueling-Arxiv-v0", "Dueling-PBM-Yandex-v0", "CM-Yandex-Breakpoint-v0", "letor"])
def test_every_kind_of_environment_is_drawn_without_an_error_and_fits_a_phone(tmp_path, browse, name):
    agents, given = ["rucb", "sparring"], {}
    if name == "letor":
        lines = [f"{d % 3} qid:{q} 1:{d}.5 2:{(d * 7 + q) % 5}" for q in range(3) for d in range(6)]
        (tmp_path / "letor.txt").write_text("\n".join(lines))
        name, given = "Dueling-LETOR-v0", {"file": str(tmp_path / "letor.txt")}
    elif name != "Dueling-Arxiv-v0":
        agents = ["batchrank", "ranked-exp3", "bubblerank"]
    write_page(watch(name, agents, rounds=30, progress=False, **given), tmp_path / "watch.html")

    async def look(page):
        await page.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
        await page.open((tmp_path / "watch.html").as_uri() + "#round=30")
        assert await page.round() == 30
        assert await page.value("document.querySelectorAll('.card').length") == len(agents)
        assert await page.value("document.documentElement.scrollWidth") <= 390
        assert await page.press("Home") == 1

    browse(look)


def test_words_and_ties_are_explained_on_the_page(tmp_path, browse):
    episode = watch("Dueling-Arxiv-v0", ["rucb"], rounds=400, seed=1, progress=False)
    write_page(episode, tmp_path / "watch.html")
    tied = []
    for beliefs in episode.agents[0].beliefs:
        beaten = beliefs.scores["arms beaten"]
        others = [arm for arm in range(6) if arm != beliefs.champion and beaten[arm] == max(beaten)]
        tied.append(others if beaten[beliefs.champion] == max(beaten) else [])
    assert any(tied)
    assert not all(tied)

    async def look(page):
        await page.open((tmp_path / "watch.html").as_uri())
        for place in range(0, 400, 7):
            await page.value(f"go({place})")
            text = await page.value("document.querySelector('.card').textContent")
            assert ("A tie: arm" in text) == bool(tied[place])
            assert not tied[place] or ", ".join(map(str, tied[place])) in text
        stops = {change.round for change in episode.agents[0].changes}
        expected = (
            f"“◀ change” and “change ▶” go to the {len(stops)} rounds in which an agent names another arm the best."
        )
        assert await page.value("$('stops').textContent") == expected
        assert "Problem: the number" in await page.value("$('help').textContent")
        assert "Pairs out of order" not in await page.value("$('help').textContent")

    browse(look)


def test_names_are_text_in_the_browser_too(episode, tmp_path, browse):
    nasty = "</script><img src=x onerror=alert(1)><b>"
    agent = episode.agents[0]._replace(label=nasty)
    write_page(episode._replace(agents=[agent], arguments={nasty: nasty}), tmp_path / "watch.html")

    async def look(page):
        await page.open((tmp_path / "watch.html").as_uri())
        assert await page.value("document.querySelectorAll('img, b').length") == 0
        assert nasty in await page.value("document.querySelector('h1').textContent")

    browse(look)


def test_the_page_runs_no_script_but_its_own(episode, tmp_path, browse):
    file = tmp_path / "watch.html"
    write_page(episode, file)
    file.write_text(file.read_text("utf-8").replace("<script>", "<script>document.title = 'changed';", 1), "utf-8")

    async def look(page):
        await page.call("Page.navigate", url=file.as_uri())
        end = time.monotonic() + PATIENCE
        while not page.faults:
            await page.value("1")
            assert time.monotonic() < end
        assert "Content Security Policy" in json.dumps(page.faults)
        assert await page.value("document.title") != "changed"
        page.faults.clear()

    browse(look)
