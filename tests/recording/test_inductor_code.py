"""Generated code of Inductor in logs: launches with the data flow of their buffers, their modules and source lines."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from opscope.analysis.cost_metrics import with_costs
from opscope.analysis.info import info_of
from opscope.cli.info import _facts
from opscope.errors import SourceError
from opscope.recording.dumps.inductor_code import GeneratedCode
from opscope.recording.dumps.torch_trace import read_dump
from opscope.recording.model import Recording

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "kineto"

CODE = """
triton_poi_fused_add_0 = async_compile.triton('triton_poi_fused_add_0', '''
    inductor_meta={'mutated_arg_names': ['in_out_ptr0']},
def triton_poi_fused_add_0(in_out_ptr0, in_ptr0, xnumel, XBLOCK : tl.constexpr):
    pass
''', device_str='cuda')
cpp_fused_cat_1 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C" void kernel(const float* in_ptr0, float* out_ptr0) {}
''')

class Runner:
    def partition_0(self, args):
        arg0_1, buf0 = args
        buf1 = buf0; del buf0  # reuse
        # Topologically Sorted Source Nodes: [y, z], Original ATen: [aten.add]
        # [Provenance debug handles] triton_poi_fused_add_0:2
        stream0 = get_raw_stream(0)
        triton_poi_fused_add_0.run(buf1, arg0_1, 64, stream=stream0)
        return (buf1,)

    def call(self, args):
        arg0_1, arg1_1 = args
        args.clear()
        assert_size_stride(arg0_1, (8, 8), (8, 1))
        with torch.cuda._DeviceGuard(0):
            buf0 = empty_strided_cuda((8, 8), (8, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [y], Original ATen: [aten.mm]
            extern_kernels.mm(arg0_1, reinterpret_tensor(arg1_1, (8, 8), (1, 8), 0), out=buf0)
            partition0_args = [arg0_1, buf0]
            (buf1,) = self.partitions[0](partition0_args)
            buf4 = empty_strided_cpu((16, 8), (8, 1), torch.float32)
            buf2 = reinterpret_tensor(buf4, (8, 8), (8, 1), 0)
            buf3 = reinterpret_tensor(buf4, (8, 8), (8, 1), 64)
            cpp_fused_cat_1(buf1, buf2)
            cpp_fused_cat_1(arg1_1, buf3)
            buf5 = torch.ops.aten.topk.default(buf4, 2)
            buf6 = buf5[0]
            buf7 = buf5[1]
            buf8 = buf6[0 : 2].view(2, 8).sum(dim=0)
        return (buf8, None, buf7, arg1_1)
"""


def test_buffers_connect_launches() -> None:
    code = GeneratedCode(CODE)
    graph = code.program("step", {}).main
    assert code.arguments == ["arg0_1", "arg1_1"]
    launches = [(node.id, node.op, node.inputs) for node in graph if node.role == "op"]
    assert launches == [
        ("buf0", "extern_kernels.mm", (("arg0_1", 0), ("arg1_1", 0))),
        ("buf1", "triton_poi_fused_add_0", (("buf0", 0), ("arg0_1", 0))),
        ("buf2", "cpp_fused_cat_1", (("buf1", 0),)),
        ("buf3", "cpp_fused_cat_1", (("arg1_1", 0),)),
        ("buf5", "torch.ops.aten.topk.default", (("buf2", 0), ("buf3", 0))),
        ("buf8", "Tensor.sum", (("buf5", 0),)),
    ]
    assert graph["output"].inputs == (("buf8", 0), ("buf5", 1), ("arg1_1", 0))
    assert graph["output"].attrs["results"] == ["buf8", None, "buf5", "arg1_1"]
    assert [str(kind) for kind in graph["buf0"].outputs] == ["bfloat16[8, 8]"]
    assert graph["buf1"].attrs["source nodes"] == ["y", "z"] and graph["buf1"].attrs["handle"] == "triton_poi_fused_add_0:2"
    assert [node.attrs["opscope.launch"] for node in graph if node.role == "op"][::4] == ["aten::mm", "aten::topk"]


OPERATORS = """
def call(args):
    arg0_1, arg1_1, arg2_1 = args
    assert_size_stride(arg1_1, (16, ), (1, ))
    buf0 = empty_strided_cuda((8, 16), (16, 1), torch.bfloat16)
    buf9 = empty_strided_cuda((2, 4, 8), (32, 8, 1), torch.bfloat16)
    triton_poi_fused_0.run(arg0_1, buf9, 64, stream=stream0)
    extern_kernels.addmm(arg1_1, reinterpret_tensor(buf9, (8, 8), (8, 1), 0), reinterpret_tensor(arg2_1, (8, 16), (1, 8), 0), out=buf0)
    buf1 = reinterpret_tensor(buf9, (16, 4), (4, 1), 0); del buf9  # reuse
    buf2 = buf1; del buf1  # reuse
    buf3 = empty_strided_cuda((16, 2), (2, 1), torch.bfloat16)
    extern_kernels.mm(buf2, reinterpret_tensor(buf0, (4, 2), (1, 4), 0), out=buf3)
    extern_kernels.mm(buf3, arg2_1, out=buf0)
    buf4 = torch.ops.aten.convolution_backward.default(
        reinterpret_tensor(buf0, (2, 4, 4, 4), (64, 16, 4, 1), 0), reinterpret_tensor(buf3, (2, 3, 4, 4), (48, 16, 4, 1), 0),
        reinterpret_tensor(arg2_1, (4, 3, 1, 1), (3, 1, 1, 1), 0), [4], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [False, True, False])
    buf5 = buf4[1]
    assert_size_stride(buf5, (4, 3, 1, 1), (3, 1, 1, 1))
    return (buf3, buf5)
"""


def test_inputs_whose_types_the_code_does_not_state_are_of_unknown_size() -> None:
    info = info_of(GeneratedCode(CODE).program("step", {}))
    assert (info.inputs, info.inputs_of_unknown_size, info.input_bytes) == (2, 2, 0)
    assert ("inputs", "2, of unknown size") in _facts(info, None, False)


def test_products_are_counted_from_the_views_that_they_read() -> None:
    """A buffer may be read in another shape than it was written in. What the code does not say is unknown, not guessed."""
    graph = with_costs(GeneratedCode(OPERATORS).program("step", {})).main
    flops = graph.metrics["flops"]
    assert flops["buf0"] == 2 * 8 * 16 * 8 + 8 * 16, "and one addition for each element of the bias"
    assert flops["buf3"] == 2 * 16 * 2 * 4, "the shape of a view lasts until its memory has another name"
    assert flops["buf4"] == 2 * (2 * 4 * 4 * 4) * 3, "the gradient of the weight alone"
    assert "buf0_1" not in flops, "nothing says what shape arg2_1 has"


PARTIAL_SUMS = """
def call(args):
    arg0_1, = args
    workspace_0 = empty_strided_cuda((786432, ), (1, ), torch.float32)
    buf1 = empty_strided_cuda((8192, 768), (768, 1), torch.bfloat16)
    triton_per_fused_9.run(arg0_1, buf1, workspace_0, 8192, 768, stream=stream0)
    buf19 = workspace_0[0 * 512 * 768 : (0 + 1) * 512 * 768].view(512, 768).sum(dim=0)
    buf21 = workspace_0[1 * 512 * 768 : (1 + 1) * 512 * 768].view(512, 768).amax(dim=0).to(torch.bfloat16)
    return (buf1, buf19, buf21)
"""


def test_a_sum_reads_its_part_of_a_workspace() -> None:
    """As Inductor 2.11 writes partial sums of norms; it converts those that are not of 32 bits."""
    graph = with_costs(GeneratedCode(PARTIAL_SUMS).program("step", {})).main
    assert [graph[name].op for name in ("buf19", "buf21")] == ["Tensor.sum", "Tensor.amax"]
    assert [str(graph[name].outputs[0]) for name in ("buf19", "buf21")] == ["float32[768]", "bfloat16[768]"]
    assert [graph.metrics["bytes"][name] for name in ("buf19", "buf21")] == [4 * 512 * 768 + 4 * 768, 4 * 512 * 768 + 2 * 768]
    assert [graph.metrics["flops"][name] for name in ("buf19", "buf21")] == [512 * 768] * 2


@pytest.mark.parametrize(("text", "problem"), [("def call(:", "is not Python"), ("x = 1", "has no function call")])
def test_other_code_is_refused(text: str, problem: str) -> None:
    with pytest.raises(SourceError, match=problem):
        GeneratedCode(text)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    log = tmp_path_factory.mktemp("log") / "step.log"
    log.write_bytes(gzip.decompress((SAMPLES / "compiled.log.gz").read_bytes()))
    return read_dump(log)


def test_generated_code_is_the_last_pass_of_each_half(recording: Recording) -> None:
    passes = [(snapshot.pipeline, snapshot.name) for snapshot in recording if snapshot.pipeline[0] == "code generation"]
    assert passes == [(("code generation", "forward"), "launches"), (("code generation", "backward"), "launches")]
    last = list(recording)[-1].program
    forward, backward = last.main["forward"], last.main["backward"]
    saved = [name for name, _ in backward.inputs if name == "forward"]
    assert len(saved) > 5, "the backward reads what the forward's code saved"
    assert forward.calls == ("forward",) and not recording.skipped


def test_launches_have_modules_and_source_lines(recording: Recording) -> None:
    """Forward and backward; the log names parameters, and the code names nodes."""
    last = list(recording)[-1].program
    matmuls: dict[str, list[str]] = {}
    for half in ("forward", "backward"):
        for node in last[half]:
            if node.op.startswith("extern_kernels."):
                matmuls.setdefault("/".join(node.scope), []).append(half)
    linears = ["blocks/0/up", "blocks/0/down", "blocks/1/up", "blocks/1/down", "head"]
    assert matmuls == {module: ["forward", "backward", "backward"] for module in linears}
    scopes = {node.op: "/".join(node.scope) for node in last["backward"] if "layer_norm_backward" in node.op}
    assert sorted(scopes.values()) == ["blocks", "blocks/1/norm"], "one kernel computes gradients of both norms"
    assert ("blocks", "0", "norm") in {node.scope for node in last["backward"]}, "and another adds them up"
    lines = {node.source[0].line for half in ("forward", "backward") for node in last[half] if node.source}
    assert lines == {11, 20}


def test_each_launch_says_which_nodes_it_computes(recording: Recording) -> None:
    (step,) = [snapshot for snapshot in recording if snapshot.pipeline == ("code generation", "forward")]
    computed = {new[1]: {name for _, name in origin.old} for origin in step.origins for new in origin.new}
    graph = step.program["forward"]
    (head,) = [node.id for node in graph if node.scope == ("head",) and node.op == "extern_kernels.addmm"]
    assert computed[head] == {"addmm_4"}
    fused = [names for id, names in computed.items() if "gelu" in graph[id].op]
    assert all({"erf", "erf_1"} & names for names in fused) and fused
