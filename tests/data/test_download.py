"""Downloads within limits: servers that send too much, too slowly or nothing; what a killed download leaves."""

import http.server
import os
import subprocess
import sys
import threading
import time

import pytest

from rankgym import data
from rankgym.data import catalogue, download
from rankgym.data.download import Bar


class Server(http.server.BaseHTTPRequestHandler):
    """Sends what the path names, until the client hangs up."""

    def do_GET(self):
        getattr(self, self.path[1:])()

    def head(self, status=200, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def endless(self):
        self.head()
        self.pour(b"\0" * 50_000, 0.0)

    def drops(self):
        self.head()
        self.pour(b"x", 0.02)

    def dripping_headers(self):
        self.wfile.write(b"HTTP/1.0 200 OK\r\n")
        self.pour(b"X-Name: 1\r\n", 0.02)

    def announced(self):
        self.head(Content_Length=10**12)

    def cut(self):
        self.head(Content_Length=10)
        self.wfile.write(b"12345")

    def around(self):
        self.head(302, Location="/around")
        self.pour(b"\0" * 50_000, 0.0)  # the body of a redirect, which nobody reads

    def elsewhere(self):
        self.head(302, Location="/whole")

    def whole(self):
        self.head(Content_Length=5)
        self.wfile.write(b"12345")

    def packed(self):
        self.head(Content_Encoding="gzip", Content_Length=5)
        self.wfile.write(b"12345")

    def missing(self):
        self.head(501)

    def pour(self, piece, pause):
        while not self.server.closing.wait(pause):
            self.wfile.write(piece)

    def log_message(self, *_):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """The client hung up."""


@pytest.fixture
def address(monkeypatch):
    """A server on loopback that stops sending at the end of the test."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Quiet(("127.0.0.1", 0), Server) as server:
        server.closing = threading.Event()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.closing.set()
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("endless", "the server sends more than 100007 bytes; allowed: at most 100007"),
        ("drops", "the server was too slow for 0.5 seconds; allowed: at least 1,000 bytes a second"),
        ("dripping_headers", "the server was too slow for 0.5 seconds; allowed: at least 1,000 bytes a second"),
        ("announced", "the server announces 1000000000000 bytes; allowed: at most 100007"),
        ("cut", "5 bytes"),
        ("around", "the server redirects more than 5 times"),
        ("missing", "501"),
    ],
)
def test_what_is_beyond_the_limits_is_refused_at_once(path, said, address, monkeypatch):
    if "bytes a second" in said:
        monkeypatch.setattr(download, "RATE_SECONDS", 0.5)
    begin = time.monotonic()
    with pytest.raises(data.DownloadFailed, match=said):
        download.download(f"{address}/{path}", 7)
    assert time.monotonic() - begin < 10
    for thread in threading.enumerate():  # the one that received ends by itself
        if thread.name == "rankgym-download":
            thread.join(5)
            assert not thread.is_alive()


def test_there_is_a_deadline_however_fast_the_server_is(address, monkeypatch):
    monkeypatch.setattr(download, "MOST_SECONDS", 0.2)
    monkeypatch.setattr(download, "MOST_BYTES", 10**12)
    monkeypatch.setattr(download, "LEAST_RATE", 0)
    with pytest.raises(data.DownloadFailed, match=r"longer than 0\.2 seconds"):
        download.download(f"{address}/drops", None)


def test_what_is_sent_is_received_and_shown(address):
    with Bar("file") as bar:
        assert download.download(f"{address}/elsewhere", 5, bar) == b"12345"
    assert bar.total == 5
    assert download.download(f"{address}/packed", None) == b"12345"  # nothing is unpacked


FETCH = "import sys; from rankgym import data; print('begun', flush=True); data.fetch('yandex60', url=sys.argv[1])"


def test_a_killed_download_leaves_nothing_and_the_next_one_removes_what_earlier_versions_left(
    address, tmp_path, monkeypatch
):
    environment = {**os.environ, "RANKGYM_DATA_HOME": str(tmp_path / "home"), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", FETCH, f"{address}/drops"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout.readline() == b"begun\n"
        while not (tmp_path / "home").exists():
            time.sleep(0.01)
        time.sleep(0.1)
        process.kill()
    assert list((tmp_path / "home").iterdir()) == []
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "home"))
    for name, age in (("old", 2 * catalogue.STALE_SECONDS), ("new", 0)):
        folder = tmp_path / "home" / f".part-{name}"
        folder.mkdir()
        (folder / "download").write_bytes(b"half")
        os.utime(folder, (time.time() - age, time.time() - age))
    with pytest.raises(data.WrongDigest, match="it must be 628efeed"):
        data.fetch("yandex60", url=f"{address}/whole", progress=False)
    assert [folder.name for folder in (tmp_path / "home").iterdir()] == [".part-new"]
