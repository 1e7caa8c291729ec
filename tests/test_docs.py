"""Everything is documented: a command, an option or a public name that `docs/` does not mention fails here."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import click
import pytest

import opscope
from opscope import native
from opscope.cli import COMMANDS
from opscope.cli import opscope as group
from opscope.cli.view_options import view_options

DOCS = Path(__file__).resolve().parent.parent / "docs"
CLI = (DOCS / "cli.md").read_text("utf-8")
PYTHON = (DOCS / "python.md").read_text("utf-8")
VIEW_OPTIONS = {
    text for option in vars(view_options()(lambda: None))["__click_params__"] for text in (*option.opts, *option.secondary_opts)
}
SHARED_OPTIONS = {"--module", "--from", "--stage", "--inside"}


def section(title: str) -> str:
    match = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", CLI, re.M | re.S)
    assert match, f"docs/cli.md has no section `{title}`"
    return match[1]


def options_in(text: str) -> set[str]:
    """Options in the first column of the tables."""
    return {option for cell in re.findall(r"^\| (.*?) \|", text, re.M) for option in re.findall(r"`(--?[\w-]+)", cell)}


def command_of(name: str) -> click.Command:
    match = group.get_command(click.Context(group), name)
    assert match is not None
    return match


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented_and_every_documented_option_exists(name: str) -> None:
    options = [param for param in command_of(name).params if isinstance(param, click.Option)]
    flags = {text for option in options for text in (*option.opts, *option.secondary_opts)}
    elsewhere = SHARED_OPTIONS | (VIEW_OPTIONS if flags >= VIEW_OPTIONS else set())
    assert options_in(section(f"opscope {name}")) == flags - elsewhere
    assert ("[view options](#view-options)" in section(f"opscope {name}")) == (flags >= VIEW_OPTIONS)


def test_shared_options_are_documented_once() -> None:
    assert options_in(CLI[: CLI.index("\n## ")]) == SHARED_OPTIONS
    assert options_in(section("View options")) == VIEW_OPTIONS


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_the_commands_say(name: str) -> None:
    command = command_of(name)
    assert command.help and all(option.help for option in command.params if isinstance(option, click.Option))
    assert COMMANDS[name][1].endswith(".")


def test_every_public_name_is_documented_and_exists() -> None:
    for name in opscope.__all__:
        assert f"`opscope.{name}`" in PYTHON or f"`{name}`" in PYTHON, f"docs/python.md does not mention {name}"
        assert getattr(opscope, name) is not None
    assert set(opscope._HOMES) == set(opscope.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = opscope.nonsense


def test_the_documented_json_is_what_the_reader_accepts() -> None:
    text = (DOCS / "native-json.md").read_text("utf-8")
    example = re.search(r"```json\n(.*?)```", text, re.S)
    assert example and native.loads(example[1])[0].main["y"].scope == ("step", "layer_0")
    schema = json.loads(files("opscope").joinpath("schema/opscope-1.schema.json").read_text("utf-8"))
    fields = {name for part in ("program", "graph", "node", "type") for name in schema["$defs"][part]["properties"]}
    assert all(f"`{field}`" in text for field in fields)


def test_links_between_documents_resolve() -> None:
    root = DOCS.parent
    for page in (*root.glob("*.md"), *DOCS.glob("*.md"), *_directory_readmes()):
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.relative_to(root)} links to {target}, which is not there"


def _code_directories() -> list[Path]:
    root = DOCS.parent
    directories = [path for top in ("src/opscope", "web/src") for path in ((root / top), *(root / top).rglob("*")) if path.is_dir()]
    return [path for path in directories if not {"__pycache__", "static"} & {*path.parts} and any(path.iterdir())]


def _directory_readmes() -> list[Path]:
    return [directory / "README.md" for directory in _code_directories()]


def test_every_directory_has_a_readme_that_names_only_existing_files() -> None:
    """A README that names a file that was renamed sends a newcomer the wrong way."""
    root = DOCS.parent
    for readme in _directory_readmes():
        assert readme.exists(), f"{readme.parent.relative_to(root)} has no README.md"
        for name in re.findall(r"`([\w./]+\.(?:py|tsx?|css|json))`", readme.read_text("utf-8")):
            places = [base / name for base in (readme.parent, *readme.parent.parents, root / "web")]
            assert any(path.exists() for path in places), f"{readme.relative_to(root)} names {name}, which is not there"


def test_the_viewers_keys_are_listed_as_its_sheet_lists_them() -> None:
    sheet = (DOCS.parent / "web" / "src" / "ui" / "panels" / "commands.ts").read_text("utf-8")
    listed = [(keys.split(), what) for keys, what in re.findall(r'\bkeys: "([^"]+)",\s*what: "([^"]+)"', sheet)]
    keys_section = (DOCS / "viewer.md").read_text("utf-8").partition("## Keys")[2]
    documented = [(cell.replace("`", "").split(), what) for cell, what in re.findall(r"^\| (?!key)(.+?) \| (.+?) \|$", keys_section, re.M)]
    assert documented == listed and len(listed) > 30
