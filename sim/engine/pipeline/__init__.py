"""Pipeline parallelism: one loop for every combination of choices, with several batches in flight.

A batch passes the stages one after the other while others follow it, and its outputs are applied when it leaves the
last. Members are visited one by one in every call: a decoding member is in one batch in so many, so that there is no
quiet iteration in which all of them age together.
"""
