"""What analysis adds to a program, in one place: quantized clusters, links from backward to forward operations, estimated costs.

Whoever shows or saves a program calls `enrich` first, so that pictures, pages and JSON say the same. Reading, comparing and counting
do without it: on a large program it takes longer than reading. Groupings are quick to find, and what a person expects on a program
that was just loaded: `load` and `capture` give it with them.
"""

from __future__ import annotations

from opscope.analysis.clusters import with_clusters
from opscope.analysis.cost_metrics import with_costs
from opscope.analysis.gradients import with_backward_links
from opscope.program import Program

_STEPS = (with_clusters, with_backward_links, with_costs)
"""Each leaves alone what the program already has."""
_RESULT = "_enriched"


def with_groupings(program: Program) -> Program:
    """The program with the groupings that analysis finds, and nothing else."""
    return with_clusters(program)


def enrich(program: Program) -> Program:
    """The program with all that analysis adds. It is worked out once, and kept beside the program as a cached property would be."""
    known: Program | None = vars(program).get(_RESULT)
    if known is not None:
        return known
    enriched = program
    for step in _STEPS:
        enriched = step(enriched)
    vars(program)[_RESULT] = vars(enriched)[_RESULT] = enriched
    return enriched
