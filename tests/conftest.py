"""What all tests share: deterministic hypothesis, sample data if present, and commands as a user runs them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Generator, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

from opscope.demo import source_path
from opscope.errors import OpscopeError
from opscope.recording.diff import Diff
from opscope.recording.model import Recording

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = source_path("demo:train_step")
CORPUS = ROOT / "tests" / "corpus"

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Corpus = Callable[[str], Path]

_HEADLESS = Path("/usr/bin/chromium-headless-shell")
CHROMIUM = _HEADLESS if _HEADLESS.exists() else Path("/usr/bin/chromium")
"""The browser without its own windows, which opens a page in a quarter of the time, if it is installed."""
_PLAYWRIGHTS = (
    "AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,LensOverlay,MediaRouter,"
    "PaintHolding,ThirdPartyStoragePartitioning,AvoidCorsURLLoaderRestartOnRedirect,OptimizationHints,NetworkTimeServiceQuerying,AimEnabled,"
    "PreconnectToSearch"
)
"""Features that Playwright turns off; Chromium honours only the last list that it gets."""
_ADDRESS_BAR = "WebUIOmniboxPopup,WebUIOmniboxAimPopup"
"""Two hidden pages of the address bar that Chromium loads with every window: a fifth of the time that a new page takes."""
QUIET = [
    "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", f"--disable-features={_PLAYWRIGHTS},{_ADDRESS_BAR}",
]  # fmt: skip

settings.register_profile("opscope", derandomize=True, deadline=None, database=None)
settings.load_profile("opscope")

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["OPSCOPE_CACHE"] = os.environ["OPSCOPE_STATE"] = "off"  # tests leave nothing in anybody's home


_TOO_OLD = "stage='joint' needs torch 2.9"
"""How torch 2.6 to 2.8 are refused, which is not a failure of a test that needs a joint graph."""


def _skipped(error: OpscopeError) -> None:
    if str(error).startswith(_TOO_OLD):
        pytest.skip(str(error))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Skip a test that captures a joint graph, or whose fixture does, where torch is too old for it."""
    try:
        yield
    except OpscopeError as error:
        _skipped(error)
        raise


pytest_runtest_setup = pytest_runtest_call


def diff_of(recording: Recording, which: int | str) -> Diff:
    """What a pass that is not the first one did."""
    diff = recording.diff(which)
    assert diff is not None
    return diff


def load_file(path: Path) -> ModuleType:
    """A Python file that is not on the path, such as the programs of a benchmark, as a module; the same one each time."""
    if path.stem not in sys.modules:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec and spec.loader
        sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[path.stem])
    return sys.modules[path.stem]


FRAMEWORK_DIRECTORIES = {"pytorch", "executorch", "jax_functions"}
"""Tests in these directories need a framework; others say so with a mark of their own."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tiers: `make test-fast` leaves out tests that are slow or need a framework or a browser."""
    for item in items:
        directory = item.path.relative_to(ROOT / "tests").parts[0]
        if directory in FRAMEWORK_DIRECTORIES:
            item.add_marker(pytest.mark.frameworks)
        if directory == "browser" or "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out files that import a framework at the top: without torch they cannot be collected, and for the fast tier their imports
    alone would take a third of its minute."""
    tier = str(config.option.markexpr)
    if "not frameworks" in tier or find_spec("torch") is None:
        if collection_path.name in FRAMEWORK_DIRECTORIES:
            return True
        if collection_path.suffix == ".py" and "\npytestmark = pytest.mark.frameworks\n" in collection_path.read_text():
            return True
    return True if collection_path.name == "browser" and "not browser" in tier else None


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Samples that are too large or not ours to check in; they are next to the repository and may be absent."""
    data = ROOT.parent / "shared" / "data"
    if not data.is_dir():
        pytest.skip("sample data beside the repository (../shared/data) is not here")
    return data


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A part of the checked-in corpus by name (tests/corpus/README.md); archives are unpacked once per session."""

    @cache
    def part(name: str) -> Path:
        archive = CORPUS / f"{name}.tar.xz"
        if not archive.exists():
            return CORPUS / name
        directory = tmp_path_factory.mktemp(name)
        with tarfile.open(archive) as packed:
            packed.extractall(directory, filter="data")
        return directory

    return part


@pytest.fixture(scope="session")
def gpu_dump(corpus: Corpus) -> Path:
    """A directory that XLA:GPU dumped: a step of training with a scan, after every pass, with its buffer assignment."""
    return next(path.parent for path in corpus("xla_gpu_scan_passes").rglob("*-buffer-assignment.txt"))


@pytest.fixture(scope="session")
def example() -> Path:
    """The train step that `opscope demo` opens."""
    return EXAMPLE


@pytest.fixture(scope="session")
def chromium() -> Iterator[Callable[..., Any]]:
    """Starts real Chromium. Playwright can run only once in a process, so every test that needs a browser gets it here."""
    playwright = pytest.importorskip("playwright.sync_api", reason="pages are tested with Playwright, which is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"pages are tested in {CHROMIUM}, which is not here")
    with playwright.sync_playwright() as running:
        yield lambda *flags: running.chromium.launch(executable_path=str(CHROMIUM), args=[*QUIET, *flags])


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs `opscope …` in a separate process, in an empty directory."""

    def run(*args: str | Path, stdin: str | bytes = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        input_bytes = stdin.encode() if isinstance(stdin, str) else stdin
        command = [sys.executable, "-m", "opscope", *map(str, args)]
        settings = {**os.environ, **(env or {})}
        done = subprocess.run(command, input=input_bytes, capture_output=True, cwd=tmp_path, env=settings, check=False)
        return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
