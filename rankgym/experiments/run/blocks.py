"""Playing blocks of rows: one after the other in this process, or side by side in several.

A row's history depends on its own seed and query alone, so it does not matter which rows share a block, nor where it is
played. (An agent whose rows are not independent breaks this; ``rankgym.check_agent`` finds it.)
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for
from typing import Any

import gymnasium as gym

from rankgym.agent import seed_argument
from rankgym.experiments.plan.agents import AgentFailed
from rankgym.experiments.plan.jobs import Block
from rankgym.play.history import DuelingHistory, History
from rankgym.play.simulate import simulate

__all__ = ["Stopped", "make", "play", "play_all"]

PATIENCE = 0.1  # seconds between looks at what the other processes have done


class Stopped(Exception):
    """Somebody else failed or was interrupted: leave the rest."""


def make(block: Block, rows: Sequence[int] | None = None) -> tuple[Any, Any]:
    """The environment of a block, not reset yet, and its agent; or of some of its rows, numbered from 0.

    Raises:
        ValueError: the agent cannot be made so.
        AgentFailed: the agent failed; the message says how and where.
    """
    chosen = range(block.rows) if rows is None else rows
    played: dict[str, Any] = {} if block.choice is None else {block.choice: [block.queries[row] for row in chosen]}
    env = gym.make_vec(block.env_id, num_envs=len(chosen), **played, **block.env_kwargs)
    try:
        return env, block.agent.make(
            env, block.horizon, seed_argument([block.seed + block.start + row for row in chosen])
        )
    except BaseException as error:
        env.close()
        if isinstance(error, (ValueError, AgentFailed)) or not isinstance(error, Exception):
            raise
        raise block.agent.failure(error) from error


def play(block: Block, tell: Callable[[int], None]) -> tuple[History | DuelingHistory, float]:
    """The block's history, (records, rows), and the seconds it took; ``tell`` hears of sessions as they are played.

    Raises:
        ValueError: the agent cannot be made so.
        AgentFailed: the agent failed, or its lists are none; the message says how and where.
    """
    env, agent = make(block)
    with contextlib.closing(env):
        start = time.perf_counter()
        try:
            history = simulate(
                agent,
                env,
                block.rounds,
                seed=block.seed + block.start,
                record_at=block.record_at,
                progress=lambda rounds: tell(rounds * block.rows),
            )
        except Stopped:
            raise
        except Exception as error:
            raise block.agent.failure(error) from error
        return history, time.perf_counter() - start


def play_all(
    blocks: Sequence[Block], jobs: int, advance: Callable[[Block, int], None]
) -> Iterator[tuple[Block, History | DuelingHistory, float]]:
    """Play ``blocks`` in ``jobs`` processes (1: in this one); each comes as it is done, in no certain order.

    Args:
        blocks: what to play.
        jobs: at least 1.
        advance: is told of sessions of a block, several times a second.

    Raises:
        Exception: what the first block to fail raised; the others are stopped, and so they are by Ctrl-C.
    """
    if jobs == 1 or len(blocks) <= 1:
        for block in blocks:
            history, seconds = play(block, lambda sessions, block=block: advance(block, sessions))  # type: ignore[misc]
            yield block, history, seconds
        return
    context = multiprocessing.get_context("spawn")
    news, stop = context.Queue(), context.Event()

    def listen() -> None:
        while True:
            try:
                number, sessions = news.get_nowait()
            except queue.Empty:
                return
            advance(blocks[number], sessions)

    with ProcessPoolExecutor(min(jobs, len(blocks)), context, _begin_worker, (news, stop)) as pool:
        try:
            waiting = {pool.submit(_work, number, block): block for number, block in enumerate(blocks)}
            while waiting:
                finished, _ = wait(waiting, PATIENCE, FIRST_COMPLETED)
                listen()
                for future in finished:
                    yield waiting.pop(future), *future.result()
        except BrokenProcessPool as error:
            raise RuntimeError(
                "a worker process died: killed for want of memory, or started from a script that lacks "
                "`if __name__ == '__main__':` around its work"
            ) from error
        finally:  # also when the caller leaves early, or Ctrl-C is pressed
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


# -- in a worker ------------------------------------------------------------------------------------------------------

_news: Any = None
_stop: Any = None


def _begin_worker(news: Any, stop: Any) -> None:
    global _news, _stop
    _news, _stop = news, stop
    news.cancel_join_thread()  # nobody may be left to read the last news
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to hear; it sets stop
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _work(number: int, block: Block) -> tuple[History | DuelingHistory, float]:
    def tell(sessions: int) -> None:
        if _stop.is_set():
            raise Stopped
        _news.put((number, sessions))

    return play(block, tell)
