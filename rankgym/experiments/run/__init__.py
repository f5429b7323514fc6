"""Play jobs: checkpoints, one store of results, one progress display, and one engine.

``driver.py`` hands out jobs and survives dead workers, ``executor.py`` knows who plays (this process, processes, a Dask
or Ray cluster), ``worker.py`` plays one job, ``work_folder.py`` has checkpoints, ``store.py`` results.
May import plan, play and everything below them; it neither judges nor draws what it stores.
"""
