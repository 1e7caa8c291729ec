"""Which test protects against which defect that a compiler engineer found in recordings (November 2026): the one list of them.

| defect | what was wrong |
|---|---|
| D1 | two compilations were matched by names that had been renumbered: 505 changes where 12 are real |
| D2 | "Touches selection" of a group gave the passes of the node that was selected before |
| D3 | attributes that are JSON were compared as text, and a change was printed as two equal texts |
| D4 | nobody said what replaced a node: gemm fusion → cuBLAS call, five all-reduces → one |
| D5 | matches across layers and operations; a history without the step that links |
| D6 | sizes of Inductor's buffers were texts, so they had no bytes |
| D7 | the parameters of an extract were numbered anew |
| D8 | FLOPs fell where products became calls of cuBLAS |
| D9 | a loop of unknown length was counted once, without a word |
| D10 | a computation could not be extracted by its name |
| D11 | the page and the command line counted different numbers of changed passes |
| D12 | every `history` compared all passes again |
| D13 | what the SPMD partitioner did was ascribed to the pipeline in it, and told as a fusion |
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PROTECTED_BY = {
    "D1": ["recording/test_compilations.py::test_one_changed_layer_is_a_small_diff"],
    "D2": ["browser/test_timeline.py::test_the_passes_of_a_group_are_its_own_and_not_those_of_the_node_before"],
    "D3": [
        "recording/test_diff.py::test_json_attributes_are_compared_by_value_and_shown_key_by_key",
        "recording/test_diff.py::test_a_change_is_never_two_equal_texts",
    ],
    "D4": [
        "recording/test_slots.py::test_a_call_of_a_library_replaced_the_dot_whose_operand_place_it_has",
        "recording/test_slots.py::test_nodes_that_were_combined_have_the_combined_one_in_common_and_a_part_each",
    ],
    "D5": [
        "recording/test_made_anew.py::test_a_node_does_not_match_one_of_another_layer",
        "recording/test_history.py::test_every_link_of_a_history_has_its_evidence",
    ],
    "D6": ["recording/test_torch_compile.py::test_with_code_generation_the_scheduler_is_recorded_before_and_after_fusion"],
    "D7": ["test_repl.py::test_a_whole_computation_keeps_its_parameter_numbers"],
    "D8": ["test_library_calls.py::test_a_compiled_train_step_costs_what_it_did_before"],
    "D9": ["test_cost.py::test_a_loop_whose_length_nobody_says_is_of_unknown_cost"],
    "D10": ["test_repl.py::test_a_computation_is_extracted_by_its_name"],
    "D11": ["recording/test_passes_cli.py::test_as_many_passes_changed_something_as_the_timeline_says"],
    "D12": ["recording/test_caches.py::test_passes_are_compared_once"],
    "D13": [
        "recording/test_bisect.py::test_what_a_pass_did_before_its_own_pipeline_started_is_its_work",
        "recording/test_bisect.py::test_partitioning_is_told_as_what_it_made_and_not_as_a_fusion",
    ],
}


def test_the_list_is_complete() -> None:
    assert list(PROTECTED_BY) == [f"D{number}" for number in range(1, 14)]
    assert __doc__ is not None and all(f"| {defect} |" in __doc__ for defect in PROTECTED_BY)


@pytest.mark.parametrize("defect", PROTECTED_BY)
def test_each_defect_has_its_test(defect: str) -> None:
    for each in PROTECTED_BY[defect]:
        file, _, name = each.partition("::")
        functions = {node.name for node in ast.walk(ast.parse((TESTS / file).read_text())) if isinstance(node, ast.FunctionDef)}
        assert name in functions, each
