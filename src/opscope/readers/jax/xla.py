"""What XLA itself does with an HLO module: read its binary forms, and compile it. Needs jaxlib, which contains XLA.

XLA ends the process on some input, so it runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from typing import Literal, TypeAlias

from opscope.errors import OpscopeError

Form: TypeAlias = Literal["text", "module", "proto", "snapshot"]
"""HLO text, or a serialized HloModuleProto, HloProto or HloSnapshot."""
_WRAPPERS: dict[Form, int] = {"text": 0, "module": 0, "proto": 1, "snapshot": 2}
"""How many messages are around the HloModuleProto; it is the first field of each."""
_PLATFORMS = {"host": "cpu"}
"""Names of platforms that JAX does not know."""


def xla_text(data: bytes, form: Form, platform: str = "") -> str:
    """The HLO text of a module, compiled for a platform if one is named ("CPU", "CUDA")."""
    if find_spec("jaxlib") is None:
        what = f"compiling for {platform}" if platform else f"an HLO {form}"
        raise OpscopeError(f"{what} needs XLA, which comes with jaxlib: pip install 'opscope[jax]'")
    asked = subprocess.run([sys.executable, "-m", __name__, form, platform], input=data, capture_output=True, check=False)
    if asked.returncode == 0:
        return asked.stdout.decode()
    lines = asked.stderr.decode(errors="replace").strip().splitlines()
    reason = lines[-1] if asked.returncode > 0 and lines else "it ended unexpectedly"
    raise OpscopeError(f"XLA cannot {f'compile it for {platform}' if platform else 'read it'}: {reason}")


def _answer(data: bytes, form: Form, platform: str) -> str:
    """The same, in the process of XLA."""
    from jaxlib._hlo import XlaComputation, hlo_module_from_text

    for _ in range(_WRAPPERS[form]):
        data = _first_field(data)
    module = hlo_module_from_text(data.decode()).as_serialized_hlo_module_proto() if form == "text" else data
    computation = XlaComputation(module)
    if not platform:
        return str(computation.as_hlo_text())
    from jax._src.lib import xla_client
    from jax.extend.backend import get_backend

    backend = get_backend(_PLATFORMS.get(platform.lower(), platform.lower()))
    source = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
    devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
    return str(backend.compile_and_load(source, devices, xla_client.CompileOptions()).hlo_modules()[0].to_string())


def _first_field(message: bytes) -> bytes:
    """Field 1 of a protobuf message, which must be a message too."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    try:
        while at < len(message):
            field, kind = divmod(varint(), 8)
            size = {0: 0, 1: 8, 5: 4}.get(kind)
            if kind == 0:
                varint()
            length = varint() if kind == 2 else size
            if length is None or at + length > len(message):
                break
            if (field, kind) == (1, 2):
                return message[at : at + length]
            at += length
    except IndexError:
        pass
    raise ValueError("it is not a serialized message of this kind")


def main() -> int:
    form, platform = sys.argv[1:]
    try:
        sys.stdout.write(_answer(sys.stdin.buffer.read(), form, platform))  # type: ignore[arg-type]
    except Exception as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
