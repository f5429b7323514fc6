"""Play jobs: one engine (executor, driver, worker), checkpoints, one store of results, one progress display.

May import plan, play and everything below them; it neither judges nor draws what it stores.
"""
