#!/bin/sh
# Makes a side environment with one version of hidet, for the tests that run it on the CPU.
#
#     tests/support/hidet_env.sh 0.6.1 .venv-hidet-0.6.1
#
# hidet's own requirements pull CUDA and ROCm wheels; none of them is needed to trace and optimize graphs on the CPU. So hidet is
# installed without dependencies, and everything else (torch, numpy, opscope itself) is seen through the environment of $PYTHON. hidet 0.6
# imports a module `hip` when it starts: a stub that knows no functions is enough.
set -eu
version=$1
folder=$2
python=${PYTHON:-.venv/bin/python}

[ -f "$folder/.ready-$version" ] && exit 0
"$python" -m venv "$folder"
site=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/outer.pth"
"$folder/bin/python" -m pip install --quiet psutil tqdm nvtx tabulate astunparse lark tomlkit scipy gitpython importlib_metadata networkx requests
install() { "$folder/bin/python" -m pip install --quiet --no-deps "$@"; }
case $version in
0.6.*) install "hidet==$version" cuda-python==12.9.0 cuda-bindings==12.9.0 cuda-pathfinder ;;
*) install "hidet==$version" cuda-python==12.4.0 ;;
esac
if [ ! -e "$site/hip" ]; then
    mkdir "$site/hip"
    cat >"$site/hip/__init__.py" <<'STUB'
from hip import hip
STUB
    cat >"$site/hip/hip.py" <<'STUB'
class _Missing:
    def __getattr__(self, name):
        return _Missing()

    def __call__(self, *args, **options):
        return _Missing()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _Missing()
STUB
fi
touch "$folder/.ready-$version"
