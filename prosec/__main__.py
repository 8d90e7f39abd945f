"""`python -m prosec`: the same as the command `prosec`."""

from prosec.cli import main

if __name__ == "__main__":
    main()
