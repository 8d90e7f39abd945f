"""How fast this is, beside what it is built on: `python -m tests.benchmarks`.

One command runs all parts and prints ratios against baselines that are measured in the same run, alternately with what
they are compared to. Nothing here fails because something is slow: machines differ, and are busy. What must hold on
every machine (work that grows with the input) is counted in the tests of the stages.
"""
