"""What is to be played, as data: a sweep, the names that people type, jobs and their keys.

``Sweep.jobs`` goes through the whole room; run gets its jobs. ``digests.py`` has what decides a job's key: why a job is
played again. Plays nothing and reads no results. May import play and everything below it, and no other room of
experiments.
"""
