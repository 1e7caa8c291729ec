"""Records torch.compile: every graph that Dynamo produces, through all of Inductor's passes.

    with opscope.record("run.opscope") as rec:
        loss = rec.torch(model, batch)      # compiles and runs it
        loss.backward()

    with opscope.record("run.opscope"):
        train_step()                        # everything that torch.compile compiles in here

Each graph of Dynamo is one module of the recording; graph breaks and recompilations add more.
"""

from __future__ import annotations

from opscope.recording.hooks.torch_compile.hooks import listen, record_torch, watching

__all__ = ["listen", "record_torch", "watching"]
