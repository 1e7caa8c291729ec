"""What XLA compiles HLO to. Needs jaxlib, which contains XLA.

XLA ends the process on some input, so it runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from opscope.child import child_environment, python_command
from opscope.errors import OpscopeError

_PLATFORMS = {"host": "cpu"}
"""Names of platforms that JAX does not know."""


def compile_hlo(text: str, platform: str) -> str:
    """The HLO text of a module after XLA has compiled it for a platform ("CPU", "CUDA")."""
    if find_spec("jaxlib") is None:
        raise OpscopeError(f"compiling for {platform} needs XLA, which comes with jaxlib: pip install 'opscope[jax]'")
    asked = subprocess.run(
        python_command(__name__, platform), env=child_environment(), input=text.encode(), capture_output=True, check=False
    )
    if asked.returncode == 0:
        return asked.stdout.decode()
    lines = asked.stderr.decode(errors="replace").strip().splitlines()
    reason = lines[-1] if asked.returncode > 0 and lines else "it ended unexpectedly"
    raise OpscopeError(f"XLA cannot compile it for {platform}: {reason}")


def _compiled(text: str, platform: str) -> str:
    """The same, in the process of XLA."""
    from jax._src.lib import xla_client
    from jax.extend.backend import get_backend
    from jaxlib._hlo import XlaComputation, hlo_module_from_text

    computation = XlaComputation(hlo_module_from_text(text).as_serialized_hlo_module_proto())
    backend = get_backend(_PLATFORMS.get(platform.lower(), platform.lower()))
    source = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
    devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
    return str(backend.compile_and_load(source, devices, xla_client.CompileOptions()).hlo_modules()[0].to_string())


def main() -> int:
    try:
        sys.stdout.write(_compiled(sys.stdin.read(), sys.argv[1]))
    except Exception as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
