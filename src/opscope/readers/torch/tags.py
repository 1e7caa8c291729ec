"""What backends record on a graph before they lower it: the partition of each node, and its quantized cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from opscope.program import Path

PARTITION = "partition"
CLUSTER = "qdq cluster"

NameOf = Callable[[Any], str | None]
"""From an fx node to the name of its partition or cluster, or None."""


def partition_name(node: Any) -> str | None:
    """The tag of the node's partition. Every ExecuTorch partitioner sets it."""
    tag = node.meta.get("delegation_tag")
    return None if tag is None else str(tag)


def cluster_name(node: Any) -> str | None:
    """The node's cluster. Backends that recognize clusters themselves (NXP's) set it."""
    cluster = node.meta.get("cluster")
    return None if cluster is None else str(cluster)


def cluster_title(name: str) -> str:
    return f"cluster ({name.replace('/', ':')})"


def tag_groupings(nodes: Iterable[Any], partition: NameOf = partition_name, cluster: NameOf = cluster_name) -> dict[str, dict[str, Path]]:
    """Groupings of tagged nodes by partition (with clusters inside) and by cluster, with ExecuTorch's names for the groups.

    Partitions are numbered in order of appearance. An empty grouping is left out.
    """
    numbers: dict[str, int] = {}
    by_partition: dict[str, Path] = {}
    by_cluster: dict[str, Path] = {}
    for node in nodes:
        path: Path = ()
        name = partition(node)
        if name is not None:
            path = (f"partition {numbers.setdefault(name, len(numbers))} ({name.replace('/', ':')})",)
        name = cluster(node)
        if name is not None:
            by_cluster[node.name] = (cluster_title(name),)
            path = (*path, cluster_title(name))
        if path:
            by_partition[node.name] = path
    groupings: Mapping[str, dict[str, Path]] = {PARTITION: by_partition if numbers else {}, CLUSTER: by_cluster}
    return {grouping: paths for grouping, paths in groupings.items() if paths}
