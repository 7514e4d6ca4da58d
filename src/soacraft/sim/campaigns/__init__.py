"""Campaigns: many runs of one system with varied parameters. In go a system, distributions and measures; out come a
folder of shards, a table and statistics. Run i depends on the seed and i alone.

draws -> distributions -> sampling -> variations     the numbers that run i gets
made, models, loads, lanes                           what differs between the runs of a block, and their equations
lane_step, crossings, rows, batch                    a block that marches as one; obstacles: why others do not
measures, job                                        a run, or a block of runs, and what is kept of it
folder, pool, cluster                                where results are, and who computes them
campaign, table, statistics                          what users call
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
