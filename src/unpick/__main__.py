"""`python -m unpick` is `unpick`."""

from unpick.cli import main

if __name__ == "__main__":  # worker processes import this file
    main()
