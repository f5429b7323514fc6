"""``python -m rankgym``: the command line."""

from rankgym.cli import main

if __name__ == "__main__":  # worker processes import this file too
    main()
