"""Playing jobs: one executor (this process, processes, a cluster), checkpoints, one store, one progress display.

May import plan, play and everything below them; it neither judges nor draws what it stores.
"""
