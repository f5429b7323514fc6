"""Read zip archives, arrays and pickles that somebody else may have written: within limits, and running nothing.

All other rooms open such files here alone, by the names of ``archives``, ``files`` and ``pickles``. Errors are
``files.RefusedFile``, a ValueError; its message does not have the file's name, which the caller adds. May import
nothing of rankgym; ``files`` does without NumPy, which completion in shells has no time for.
"""
