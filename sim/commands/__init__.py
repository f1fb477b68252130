"""One module a subcommand, each with `main(arguments) -> exit code`; sim/options.py declares the options.

A module is imported when its command is given: the simulator's libraries take a second, and help needs none.
"""
