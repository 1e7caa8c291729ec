"""The table of view options: what is generated from it is current, and every option is honoured or refused everywhere."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from programs import everything

import opscope
from opscope.cli.view_options import view_options
from opscope.errors import OpscopeError
from opscope.naming import closest, suggest
from opscope.render import WRITERS
from opscope.view_options import ROWS, Row, ViewOptions
from opscope.whole_file import titled

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from docs import make_view_options  # noqa: E402

OTHER: dict[str, Any] = {
    "flag": True, "integer": 3, "number": 2.0, "text": "x", "texts": ("a", "b"), "pair": ("a", "b"), "file": "rules.json",
    "files": ("data.json",),
}  # fmt: skip


def other_than_default(row: Row) -> Any:
    """A value other than the default."""
    if row.kind == "switch":
        return not row.default
    return next(choice for choice in row.choices if choice != row.default) if row.choices else OTHER[row.kind]


def keywords_for(row: Row) -> dict[str, Any]:
    """Keyword arguments that set this option, and the one it depends on."""
    by_name = {option.name: option for option in ROWS}
    needed = {row.needs: other_than_default(by_name[row.needs])} if row.needs else {}
    return {**needed, row.name: other_than_default(row)}


def test_generated_files_are_current() -> None:
    assert make_view_options.TYPESCRIPT.read_text("utf-8") == make_view_options.typescript(), "run `make options`"
    assert make_view_options.DOCUMENTATION.read_text("utf-8") == make_view_options.documentation(), "run `make options`"


def test_address_keys_and_writers_are_valid() -> None:
    keys = [row.url for row in ROWS if row.url]
    assert len(set(keys)) == len(keys)
    assert {writer for row in ROWS for writer in row.writers} <= {writer.name for writer in WRITERS}
    assert all(bool(row.url) == ("html" in row.writers) for row in ROWS if row.goes == "spec"), "what a page can show has an address"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_option_is_a_keyword_a_flag_and_a_field_of_what_is_drawn(row: Row) -> None:
    options = ViewOptions(**keywords_for(row))
    assert row in options.given
    assert (row.camel in {**options.spec, **options.request}) == (row.goes != "python")
    parameters = vars(view_options()(lambda: None))["__click_params__"]
    assert set(row.flags) <= {text for parameter in parameters for text in (*parameter.opts, *parameter.secondary_opts)}


@pytest.mark.parametrize("writer", [row.name for row in WRITERS])
def test_a_writer_refuses_what_it_would_ignore(writer: str, tmp_path: Path) -> None:
    for row in ROWS:
        if writer not in row.writers and (not row.needs or writer in next(each for each in ROWS if each.name == row.needs).writers):
            with pytest.raises(OpscopeError, match=f"^{row.name} does not apply to {titled(writer)} files; leave it out, or write "):
                opscope.save(everything(), tmp_path / "x", format=writer, **keywords_for(row))
    assert list(tmp_path.iterdir()) == []


def test_the_viewer_refuses_what_it_would_ignore() -> None:
    for option in ({"scale": 3}, {"wrap": True}):
        with pytest.raises(OpscopeError, match="does not apply to the viewer"):
            opscope.show(everything(), **option)
    with pytest.raises(OpscopeError, match="name a pass of a recording"):
        opscope.show(everything(), diff="overlay")


@pytest.mark.parametrize("function", ["save", "show"])
def test_an_unknown_keyword_is_refused_with_the_nearest_name(function: str, tmp_path: Path) -> None:
    path = (tmp_path / "x.svg",) if function == "save" else ()
    with pytest.raises(TypeError, match=rf"^{function}\(\) has no option 'grup_by'; did you mean 'group_by'\?$"):
        getattr(opscope, function)(everything(), *path, grup_by="op")
    with pytest.raises(TypeError, match=rf"^{function}\(\) has no option 'qqq'; there are: graph, depth, "):
        getattr(opscope, function)(everything(), *path, qqq=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"theme": "blue"}, "theme must be one of light, dark, not 'blue'"),
        ({"scale": 100}, "scale must be 0.05 to 32, not 100"),
        ({"depth": -1}, "depth must be 0 or more, not -1"),
        ({"hops": 3}, "hops only applies with around; add around, or leave it out"),
        ({"limit": 5}, "limit only applies with paths; add paths, or leave it out"),
        ({"forward_backward": True, "rankdir": "LR"}, "forward_backward draws top to bottom; leave out rankdir='LR'"),
    ],
)
def test_what_cannot_be_honoured_is_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OpscopeError, match=f"^{re.escape(message)}$"):
        ViewOptions(**options)


@pytest.mark.slow
def test_the_command_line_calls_options_by_their_flags(run: Run) -> None:
    for arguments, message in (
        (("--hops", "3"), "--hops only applies with --around; add --around, or leave it out\n"),
        (("--forward-backward", "--rankdir", "LR"), "--forward-backward draws top to bottom; leave out --rankdir LR\n"),
        (("--diff", "after"), "--diff shows what a pass did; name a pass of a recording, such as run.opscope@12\n"),
    ):
        assert run("export", "demo:train_step", "-o", "x.svg", *arguments).stderr == message


@pytest.mark.slow
def test_a_flag_without_its_value_may_come_before_the_source(run: Run, tmp_path: Path) -> None:
    needs_passes = "--diff shows what a pass did; name a pass of a recording, such as run.opscope@12\n"
    (tmp_path / "step").write_text("HloModule step\n\nENTRY main {\n  ROOT x = f32[] parameter(0)\n}\n")
    for source in ("demo:train_step", "step"):
        assert run("export", "--diff", source, "-o", "x.svg").stderr == needs_passes
    refused = run("export", "--diff", "sideways", "run.opscope", "-o", "x.svg").stderr
    assert "'sideways' is not one of 'before', 'after', 'overlay'" in refused


def test_a_single_name_becomes_a_list_of_one() -> None:
    assert ViewOptions(around="dot.1", stop_at=["x"]).spec == {"around": ["dot.1"], "stopAt": ["x"]}  # type: ignore[arg-type]


def test_suggestions_are_names_that_contain_it_and_then_similar_ones() -> None:
    names = ["dot.10", "dot.11", "reduce", "fusion"]
    assert closest("dot.1", names) == ["dot.10", "dot.11"]
    assert suggest("reduec", names) == "; did you mean 'reduce'?"
    assert suggest("after_fusion", names, spelled=str) == "; did you mean fusion?"
    assert suggest("q", names) == "; there are: dot.10, dot.11, reduce, fusion"
    assert suggest("q", names, otherwise="") == ""


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"depth": "3"}, "depth must be a whole number, not '3'"),
        ({"depth": True}, "depth must be a whole number, not True"),
        ({"scale": "2"}, "scale must be a number, not '2'"),
        ({"flatten": "yes"}, "flatten must be True or False, not 'yes'"),
        ({"graph": 3}, "graph must be text, not 3"),
        ({"around": 3}, "around must be a name or a list of names, not (3,)"),
        ({"paths": ("a",)}, "paths must be two names, not ('a',)"),
    ],
)
def test_a_value_of_another_type_is_refused_in_one_sentence(keywords: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OpscopeError, match=f"^{re.escape(sentence)}$"):
        ViewOptions(**keywords)


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(TypeError, match=r"ViewOptions\(\) has no option 'grup_by'; did you mean 'group_by'\?"):
        ViewOptions(grup_by="op")  # type: ignore[call-arg]


def test_a_program_takes_no_inputs(tmp_path: Path) -> None:
    with pytest.raises(OpscopeError, match=r"^a Program takes no inputs; pass view options by name, such as depth=3$"):
        opscope.save(everything(), tmp_path / "y.svg", True)


def test_names_that_differ_in_their_number_are_suggested_first() -> None:
    assert closest("dot.9999", ["add.9", "dot.12", "dot.99"]) == ["dot.99", "dot.12"]
    assert closest("dot.9999", ["tokens.1", "dot_general.77"]) == ["dot_general.77"]
