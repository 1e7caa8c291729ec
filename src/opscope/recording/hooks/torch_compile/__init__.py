"""torch.compile, recorded: every graph that Dynamo makes, followed through Inductor's passes.

    with opscope.record("run.opscope") as rec:
        loss = rec.torch(model, batch)      # compiles and runs it
        loss.backward()

    with opscope.record("run.opscope"):
        train_step()                        # whatever torch.compile compiles in here

One module of the recording is one graph, from Dynamo to the end: graph breaks and recompilations make several.
"""

from __future__ import annotations

from opscope.recording.hooks.torch_compile.hooks import listen, record_torch, watching

__all__ = ["listen", "record_torch", "watching"]
