"""``python -m likely``: the command line."""

from likely.cli import main

if __name__ == "__main__":
    main()
