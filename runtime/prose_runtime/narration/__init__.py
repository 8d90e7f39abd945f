"""What a run does, told marker by marker on standard error: the state of an in-context run, and `--narrate` elsewhere.

`Narrator` (narrator.py) observes the run. It knows the program by its `Statements`, where each strand stands by
`Places`, shows values by `Wording` and writes on a `Page`.
"""
