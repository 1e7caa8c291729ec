"""Parsing op_name: which elements are groups, which are transformations, and the scope of a called computation."""

from __future__ import annotations

from pathlib import Path

import pytest

from opscope.limits import MOST_FRAMES
from opscope.program import DIRECTION_ATTR, TRANSFORMS_ATTR
from opscope.readers.hlo import parse_hlo
from opscope.readers.hlo.scope import Scopes, parse_op_name

SAMPLES = Path(__file__).resolve().parent.parent / "samples" / "hlo"


@pytest.mark.parametrize(
    ("op_name", "path", "direction"),
    [
        ("jit(f)/jvp(layer_0)/attention/dot_general", ("f", "layer_0", "attention"), "forward"),
        ("jit(f)/transpose(jvp(layer_0))/attention/transpose", ("f", "layer_0", "attention"), "backward"),
        ("jit(f)/jvp()/add", ("f",), "forward"),
        ("jit(f)/adamw/mul", ("f", "adamw"), ""),
        ("jit(f)/softmax/exp;jit(f)/other/sub", ("f", "softmax"), ""),
        ("reduce_sum", (), ""),
        ("", (), ""),
        ("jit(f)/jvp(vmap(jit(<lambda>)))/add", ("f", "<lambda>"), "forward"),
        ("jit(f)/while/body/closed_call/layer/mul", ("f", "while", "layer"), ""),
        ("jit(f)/while/cond/lt", ("f", "while"), ""),
        ("jit(f)/cond/branch_1_fun/mul", ("f", "cond", "branch_1_fun"), ""),
        ("pjit(step)/jit(main)/layer/dot_general[dimension_numbers=(((1,), (0,)), ((), ()))]", ("step", "layer"), ""),
        ("jit(main)/layer/add", ("main", "layer"), ""),
        ("jit(f)/while[cond_nconsts=0 body_jaxpr={ a/b }]/body/add", ("f", "while"), ""),
        ("jit(f)/blocks[3]/mul", ("f", "blocks[3]"), ""),
        ("jit(f)/transpose(jvp(d))/jvp(d)/checkpoint/rematted_computation/inner/cos", ("f", "d", "inner"), "recomputed"),
        ("jit(f)/layer/layer/mul", ("f", "layer", "layer"), ""),
        ("jit(f)/jvp(outer/inner)/mul", ("f", "outer", "inner"), "forward"),
        ("jit(f)/kernel(a/b)/mul", ("f", "kernel(a/b)"), ""),
        ("model/dense/MatMul", ("model", "dense"), ""),
        ("jit(f)/(transpose(jvp(LM))/embed/add:transpose(jvp(LM))/head/dot:transpose(jvp(LM))/head/add)", ("f", "LM"), "backward"),
        ("jit(f)/jvp(LM)/(mlp/dot_general:mlp/up/dot_general)", ("f", "LM", "mlp"), "forward"),
        ("jit(f)/(jvp(LM)/add:transpose(jvp(LM))/add)", ("f", "LM"), "backward"),
        ("jit(f)/(jvp(LM)/add:update/add)", ("f",), ""),
        ("jit(f)/(jvp()/sum:sum:transpose(jvp(LM))/dot)", ("f",), "backward"),  # with a loss and a logged mean
        ("layers/layers/checkpoint/rematted_computation/block/mul", ("layers", "block"), "recomputed"),
        ("layers/layers/remat2", ("layers",), ""),
        ("layers/layers/mul", ("layers", "layers"), ""),
        ("(jit(f)/a/add:jit(g)/b/add)", (), ""),
    ],
)
def test_path_and_direction(op_name: str, path: tuple[str, ...], direction: str) -> None:
    scope = parse_op_name(op_name)
    assert (scope.path, scope.direction) == (path, direction)


def test_the_name_of_a_called_function_is_kept_and_no_other() -> None:
    assert parse_op_name("jit(f)/layer/jit(g)").call == ("g",)
    assert [parse_op_name(f"jit(f)/jit(g/{name}").call for name in ("dot", "add")] == [("dot",), ("add",)]
    assert parse_op_name("jit(f)/jvp(layer)/dot") == parse_op_name("jit(f)/jvp(layer)/add")


@pytest.mark.parametrize(
    "op_name", ["(((", ")))", "jit(f", "a]b[c/d", ";", "/", "//", "jvp(", "jit()/x", "[" * 5000, "jvp(" * 5000, "/(:)", "(:"]
)
def test_no_name_is_an_error(op_name: str) -> None:
    assert isinstance(parse_op_name(op_name).path, tuple)


def test_transformations_are_attributes_not_groups() -> None:
    [program] = parse_hlo((SAMPLES / "step_lowered.hlo").read_text())
    remat = next(node for node in program.main if "rematted_computation" in node.attrs.get("metadata.op_name", ""))
    assert remat.scope == ("step", "decoder", "again")
    assert remat.attrs[TRANSFORMS_ATTR] == "transpose, jvp, checkpoint, rematted_computation"
    assert remat.attrs[DIRECTION_ATTR] == "recomputed"


def test_relative_names_in_called_computations_are_in_the_callers_scope() -> None:
    """Before inlining, JAX writes `outer/inner/tanh` into the loop's body; the loop has the rest of the scope."""
    [program] = parse_hlo((SAMPLES / "step_lowered.hlo").read_text())
    scopes = {
        (n.attrs["metadata.op_name"], n.attrs.get(DIRECTION_ATTR), n.scope) for g in program for n in g if "metadata.op_name" in n.attrs
    }
    assert ("outer/inner/tanh", "forward", ("step", "encoder", "while", "outer", "inner")) in scopes
    assert ("outer/inner/mul", "backward", ("step", "encoder", "while", "outer", "inner")) in scopes
    assert ("scaling/gt", "forward", ("step", "encoder", "helper", "scaling")) in scopes
    assert ("select_n", "forward", ("step", "encoder", "helper", "scaling", "_where")) in scopes


def test_compiled_and_lowered_steps_have_the_same_scopes() -> None:
    """After inlining, names are complete; both forms must lead to the same groups."""
    scopes = []
    for name in ("step_lowered", "step_compiled"):
        [program] = parse_hlo((SAMPLES / f"{name}.hlo").read_text())
        scopes.append({node.scope[:2] for graph in program for node in graph if node.scope})
    lowered, compiled = scopes
    assert {("step", "encoder"), ("step", "decoder"), ("step", "sgd")} <= compiled
    assert compiled <= lowered


def test_parameters_named_by_their_path_in_the_arguments_have_no_scope() -> None:
    [program] = parse_hlo((SAMPLES / "frames.hlo").read_text())
    assert program.main["x"].scope == ()
    assert program.main["x"].attrs["metadata.op_name"] == "params['w'][0]"


def test_names_that_are_not_jaxs_get_no_callers_prefix() -> None:
    text = """HloModule cluster
f {
  ROOT x = f32[] parameter(0), metadata={op_name="model(a)/dense/x"}
}
ENTRY e {
  p = f32[] parameter(0)
  ROOT c = f32[] call(p), to_apply=f, metadata={op_name="model/call"}
}
"""
    [program] = parse_hlo(text)
    assert program["f"]["x"].scope == ("model(a)", "dense")


def test_computations_that_call_each_other_end() -> None:
    """A module with a cycle of calls is not valid, but text can express it."""
    text = """HloModule jit_f
a {
  ROOT x = f32[] call(), to_apply=b, metadata={op_name="in_a/x"}
}
b {
  ROOT y = f32[] call(), to_apply=a, metadata={op_name="in_b/y"}
}
"""
    [program] = parse_hlo(text)
    assert program["a"]["x"].scope[-1] == "in_a"


def test_frames_run_from_the_innermost_outwards() -> None:
    """The printed parent_frame_id is the parent's id plus one."""
    [program] = parse_hlo((SAMPLES / "frames.hlo").read_text())
    assert [str(f) for f in program.main["deep"].source] == [
        'a "strange" place.py:3 Block.<locals>.<lambda>',
        "model.py:12 forward",
        "model.py:40 main",
    ]
    assert [str(f) for f in program.main["inline"].source] == ["old.py:9"]
    assert program.main["lost"].source == ()


def test_frames_that_are_their_own_ancestors_end() -> None:
    text = "HloModule m\nStackFrames\n1 {file_location_id=1 parent_frame_id=3}\n2 {file_location_id=1 parent_frame_id=2}\n"
    text += "ENTRY e {\n  x = f32[] parameter(0), metadata={stack_frame_id=2}\n}\n"
    [program] = parse_hlo(text)
    assert len(program.main["x"].source) == 2


def test_callers_beyond_the_limit_of_a_stack_are_said_to_be_there() -> None:
    """Nodes share callers, so a megabyte of text can mean a billion frames."""
    depth = MOST_FRAMES + 50
    rows = "".join(f"{i} {{file_location_id=1 parent_frame_id={i + 2 if i < depth else 1}}}\n" for i in range(1, depth + 1))
    text = f"HloModule m\nStackFrames\n{rows}ENTRY e {{\n"
    text += "".join(f"  x{i} = f32[] parameter({i}), metadata={{stack_frame_id={i + 1}}}\n" for i in range(depth))
    [program] = parse_hlo(text + "}\n")
    stacks = [program.main[f"x{i}"].source for i in range(depth)]
    assert [len(stack) for stack in stacks] == [min(depth - i, MOST_FRAMES + 1) for i in range(depth)]
    assert [stack[-1].function for stack in stacks] == ["more than 256 frames"] * 50 + [""] * MOST_FRAMES


def test_names_that_differ_in_one_number_are_parsed_once_and_alike() -> None:
    scopes = Scopes()
    forms = (
        "jit(f)/jvp(layer_{})/mlp/",
        "layer_{}/layer_{}/checkpoint/",
        "jit(f)/branch_{}_fun/",
        "remat2/x{}/",
        "a{}/jit(g)/",
        "jit(f{})/",
    )
    for form in forms:
        for number in ("0", "12", "120", "007"):
            modules = form.replace("{}", number)
            assert scopes.of(modules) == parse_op_name(f"{modules}dot"), modules
