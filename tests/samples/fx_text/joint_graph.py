# depyf 0.20 with torch 2.13 wrote this: the joint graph of def f(x, w): return torch.relu(x @ w).sum()
from __future__ import annotations
import torch
from torch import device
class inner_f(torch.nn.Module):
    def forward(self, primals, tangents):
        primals_1: "f32[4, 8]"; primals_2: "f32[8, 8]"; tangents_1: "f32[]"; 

        primals_1, primals_2, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        # File: model.py:4 in f, code: def f(x,w): return torch.relu(x@w).sum()
        mm: "f32[4, 8]" = torch.ops.aten.mm.default(primals_1, primals_2);  primals_1 = None
        relu: "f32[4, 8]" = torch.ops.aten.relu.default(mm);  mm = None
        alias: "f32[4, 8]" = torch.ops.aten.alias.default(relu)
        sum_1: "f32[]" = torch.ops.aten.sum.default(relu);  relu = None
        expand: "f32[4, 8]" = torch.ops.aten.expand.default(tangents_1, [4, 8]);  tangents_1 = None
        alias_1: "f32[4, 8]" = torch.ops.aten.alias.default(alias);  alias = None
        le: "b8[4, 8]" = torch.ops.aten.le.Scalar(alias_1, 0);  alias_1 = None
        scalar_tensor: "f32[]" = torch.ops.aten.scalar_tensor.default(0, dtype = torch.float32, layout = torch.strided, device = device(type='cpu'))
        where: "f32[4, 8]" = torch.ops.aten.where.self(le, scalar_tensor, expand);  le = scalar_tensor = expand = None
        permute: "f32[8, 8]" = torch.ops.aten.permute.default(primals_2, [1, 0]);  primals_2 = None
        mm_1: "f32[4, 8]" = torch.ops.aten.mm.default(where, permute);  where = permute = None
        return pytree.tree_unflatten([sum_1, mm_1, None], self._out_spec)
