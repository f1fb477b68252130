"""The loop for every scheduler that is a combination of the five choices.

Iteration or request level, how prompts are computed, what admission reserves, who is served first, who gives way.
Members that only decode are not visited: see `sim.engine.members`. Source: design.md 3.2, schedulers.md 3 and 4.
"""
