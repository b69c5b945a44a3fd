"""Which configuration is in force, and what is said about one that cannot be used."""

import json
import re
from dataclasses import fields
from pathlib import Path

import jsonschema
import pytest

import gradcheck_tool
from gradcheck_tool.config import (
    COMMAND_LINE,
    DEFAULT_EXCLUDE,
    KEYS,
    Config,
    ConfigError,
    Overrides,
    load_config,
    parse_config,
)
from gradcheck_tool.configs import Configs
from gradcheck_tool.harness.settings import Settings, read_settings

SCHEMA = json.loads((Path(gradcheck_tool.__file__).parent / "config.schema.json").read_text())


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


class TestNearestFile:
    def test_wins_and_is_not_merged_with_those_above(self, tmp_path):
        write(tmp_path / "gradlint.toml", 'ignore = ["GL2"]\nselect = ["GL1"]\n')
        write(tmp_path / "sub" / "pyproject.toml", '[tool.gradlint]\nselect = ["GL3"]\n')
        configs = Configs(tmp_path, Overrides())
        inner = configs.for_folder(tmp_path / "sub" / "deep")
        assert (inner.select, inner.ignore) == (("GL3",), ())
        assert inner.root == tmp_path / "sub"
        assert configs.for_folder(tmp_path).select == ("GL1",)

    def test_gradlint_toml_wins_over_pyproject_beside_it(self, tmp_path):
        write(tmp_path / "pyproject.toml", '[tool.gradlint]\nselect = ["GL3"]\n')
        write(tmp_path / "gradlint.toml", 'select = ["GL1"]\n')
        assert Configs(tmp_path, Overrides()).for_folder(tmp_path).select == ("GL1",)

    def test_pyproject_without_the_section_is_passed_over(self, tmp_path):
        write(tmp_path / "gradlint.toml", 'select = ["GL1"]\n')
        write(tmp_path / "sub" / "pyproject.toml", '[project]\nname = "gradlint-user"\n')
        assert Configs(tmp_path, Overrides()).for_folder(tmp_path / "sub").select == ("GL1",)

    def test_isolated_reads_none(self, tmp_path):
        write(tmp_path / "gradlint.toml", "not toml at all")
        config = Configs(tmp_path, Overrides(isolated=True)).for_folder(tmp_path)
        assert config == Config(tmp_path)

    def test_a_named_file_is_in_force_everywhere_and_its_patterns_start_where_the_command_runs(
        self, tmp_path
    ):
        write(tmp_path / "work" / "gradlint.toml", 'select = ["GL1"]\n')
        elsewhere = write(tmp_path / "ci" / "lint.toml", 'select = ["GL3"]\nrule-packs = ["packs"]\n')
        config = Configs(tmp_path / "work", Overrides(path=elsewhere)).for_folder(tmp_path / "work")
        assert config.select == ("GL3",)
        assert config.root == tmp_path / "work"
        assert config.rule_packs == (tmp_path / "ci" / "packs",)


class TestExtend:
    BASE = """
        select = ["GL1", "GL2"]
        ignore = ["GL201"]
        exclude = ["old"]
        extend-exclude = ["gen"]
        target-torch = "2.4"
        baseline = "known.json"
        rule-packs = ["packs"]
        model-packs = ["models"]
        per-file-ignores = { "a.py" = ["GL1"], "b.py" = ["GL2"] }
    """

    def extending(self, tmp_path, text):
        write(tmp_path / "base" / "lint.toml", self.BASE)
        return load_config(write(tmp_path / "sub" / "gradlint.toml", f'extend = "../base/lint.toml"\n{text}'))

    def test_what_is_not_said_is_taken_over_with_paths_from_where_they_were_written(self, tmp_path):
        config = self.extending(tmp_path, "")
        assert (config.root, config.source) == (tmp_path / "sub", tmp_path / "sub" / "gradlint.toml")
        assert (config.select, config.ignore, config.target_torch) == (("GL1", "GL2"), ("GL201",), "2.4")
        assert config.baseline == tmp_path / "base" / "known.json"
        assert config.rule_packs == (tmp_path / "base" / "packs",)
        assert config.model_packs == (tmp_path / "base" / "models",)

    def test_values_replace_those_of_the_extended_file_or_add_to_them(self, tmp_path):
        config = self.extending(
            tmp_path,
            """
            ignore = ["GL102"]
            exclude = ["ancient"]
            extend-exclude = ["made"]
            target-torch = "2.6"
            rule-packs = ["own"]
            model-packs = ["mine"]
            per-file-ignores = { "b.py" = ["GL3"] }
            """,
        )
        assert (config.ignore, config.target_torch) == (("GL201", "GL102"), "2.6")
        assert (config.exclude, config.extend_exclude) == (("ancient",), ("gen", "made"))
        assert config.rule_packs == (tmp_path / "base" / "packs", tmp_path / "sub" / "own")
        assert config.model_packs == (tmp_path / "base" / "models", tmp_path / "sub" / "mine")
        assert config.per_file_ignores == {"a.py": ("GL1",), "b.py": ("GL3",)}

    def test_select_starts_anew(self, tmp_path):
        config = self.extending(tmp_path, 'select = ["GL3"]')
        assert (config.select, config.ignore) == (("GL3",), ())

    def test_every_key_knows_the_files_that_it_comes_from(self, tmp_path):
        config = self.extending(tmp_path, 'ignore = ["GL102"]\ntarget-torch = "2.6"')
        base, own = tmp_path / "base" / "lint.toml", tmp_path / "sub" / "gradlint.toml"
        assert config.origins["select"] == (base,)
        assert config.origins["ignore"] == (base, own)
        assert config.origins["target-torch"] == (own,)
        assert "extend-select" not in config.origins

    def test_a_circle_is_an_error(self, tmp_path):
        write(tmp_path / "a.toml", 'extend = "sub/../b.toml"\n')
        write(tmp_path / "b.toml", 'extend = "./a.toml"\n')
        with pytest.raises(ConfigError, match="is circular"):
            load_config(tmp_path / "a.toml")

    def test_mistakes_name_the_file_that_they_are_in(self, tmp_path):
        write(tmp_path / "base.toml", "selct = []\n")
        path = write(tmp_path / "gradlint.toml", 'extend = "base.toml"\n')
        with pytest.raises(ConfigError, match=r"base\.toml: unknown key"):
            load_config(path)
        path.write_text('extend = "none.toml"\n')
        with pytest.raises(ConfigError, match=r"gradlint\.toml: extend: .*none\.toml does not exist"):
            load_config(path)


class TestCommandLine:
    def test_select_replaces_the_whole_selection(self):
        config = Config(Path("/r"), select=("GL1",), extend_select=("GL2",), ignore=("GL3",))
        changed = Overrides(select=("GL3",), ignore=("GL301",)).apply(config)
        assert (changed.select, changed.extend_select, changed.ignore) == (("GL3",), (), ("GL301",))

    def test_extend_select_and_ignore_come_on_top(self):
        config = Config(Path("/r"), extend_select=("GL2",), ignore=("GL3",))
        changed = Overrides(extend_select=("GL5",), ignore=("GL1",)).apply(config)
        assert changed.extend_select == ("GL2", "GL5")
        assert changed.ignore == ("GL3", "GL1")


class TestSettingsOfTheCommandLine:
    def in_force(self, tmp_path, *settings, **overrides):
        write(tmp_path / "gradlint.toml", 'ignore = ["GL201"]\ntarget-torch = "2.4"\n[gradcheck]\nseed = 1\n')
        return Configs(tmp_path, Overrides(settings=settings, **overrides)).for_folder(tmp_path)

    def test_count_like_a_file_that_extends_the_one_in_force(self, tmp_path):
        config = self.in_force(
            tmp_path, 'target-torch = "2.6"', 'ignore = ["GL3"]', "gradcheck.cases = 2", "gradcheck.seed=3"
        )
        assert (config.target_torch, config.ignore) == ("2.6", ("GL201", "GL3"))
        assert config.gradcheck == {"seed": 3, "cases": 2}
        assert config.origin("target-torch") == COMMAND_LINE

    def test_hold_without_any_file_and_with_a_named_one(self, tmp_path):
        assert self.in_force(tmp_path, 'target-torch="2.6"', isolated=True).target_torch == "2.6"
        named = write(tmp_path / "named.toml", 'target-torch = "2.5"\n')
        assert self.in_force(tmp_path, path=named).target_torch == "2.5"
        assert self.in_force(tmp_path, 'target-torch="2.6"', path=named).target_torch == "2.6"

    def test_paths_start_where_the_command_runs(self, tmp_path):
        assert self.in_force(tmp_path, 'baseline = "known.json"').baseline == tmp_path / "known.json"

    @pytest.mark.parametrize(
        ("setting", "words"),
        [
            ("selct = []", "--config: unknown key `selct`; did you mean `select`?"),
            ("select = GL2", "--config: select = GL2: not TOML"),
            ("target-torch = 2.6", "--config: `target-torch` must be a string"),
            ('extend = "a.toml"', "--config: `extend` is not supported here; name the file itself"),
        ],
    )
    def test_mistakes_are_reported(self, tmp_path, setting, words):
        with pytest.raises(ConfigError, match=re.escape(words)):
            self.in_force(tmp_path, setting)


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ('selct = ["GL1"]', ["selct", "did you mean `select`"]),
            ('extend_select = ["GL1"]', ["did you mean `extend-select`"]),
            ("zzz = 1", ["unknown key `zzz`", "per-file-ignores"]),
            ('select = "GL1"', ["`select` must be a list of strings"]),
            ("select = [1]", ["`select` must be a list of strings"]),
            ('target-torch = "new"', ["`target-torch` must be a version"]),
            ('per-file-ignores = ["a"]', ["`per-file-ignores` must be a table"]),
            ('[per-file-ignores]\n"a.py" = "GL1"', ["`per-file-ignores.a.py` must be a list of strings"]),
            ("[tool.gradlint]\nselect = []", ["unknown key `tool`", "without `[tool.gradlint]`"]),
            ("report-unused-suppressions = 1", ["must be true or false"]),
            ("select = [", ["not TOML"]),
        ],
    )
    def test_are_errors_that_name_file_key_and_what_is_right(self, tmp_path, text, words):
        path = write(tmp_path / "gradlint.toml", text)
        with pytest.raises(ConfigError) as caught:
            load_config(path)
        for word in (str(path), *words):
            assert word in str(caught.value)

    def test_byte_order_marks_are_none(self, tmp_path):
        path = tmp_path / "gradlint.toml"
        path.write_bytes(b'\xef\xbb\xbfselect = ["GL1"]\r\n')
        assert load_config(path).select == ("GL1",)

    def test_missing_file(self, tmp_path):
        with pytest.raises(ConfigError, match=r"none\.toml: No such file"):
            load_config(tmp_path / "none.toml")

    @pytest.mark.parametrize("text", ["", "tool = 3", "[tool.ruff]", "[gradlint]"])
    def test_a_named_pyproject_without_the_section(self, tmp_path, text):
        path = write(tmp_path / "pyproject.toml", text)
        with pytest.raises(ConfigError, match=r"no `\[tool\.gradlint\]` in it"):
            load_config(path)

    def test_section_that_is_no_table(self, tmp_path):
        path = write(tmp_path / "pyproject.toml", '[tool]\ngradlint = "yes"\n')
        with pytest.raises(ConfigError, match="must be a table"):
            load_config(path)


def test_every_key_is_read(tmp_path):
    path = write(
        tmp_path / "pyproject.toml",
        """
        [tool.gradlint]
        select = ["GL1"]
        extend-select = ["GL2"]
        ignore = ["GL203"]
        exclude = ["old"]
        extend-exclude = ["vendored/*.py"]
        rule-packs = ["tools/rules"]
        model-packs = ["tools/models"]
        target-torch = "2.6"
        baseline = "lint/baseline.json"
        strict = true
        report-unused-suppressions = true
        per-file-ignores = { "tests/**" = ["GL4"] }
        gradcheck = { device = "cpu" }
        """,
    )
    assert load_config(path) == Config(
        root=tmp_path,
        source=path,
        select=("GL1",),
        extend_select=("GL2",),
        ignore=("GL203",),
        exclude=("old",),
        extend_exclude=("vendored/*.py",),
        rule_packs=(tmp_path / "tools/rules",),
        model_packs=(tmp_path / "tools/models",),
        target_torch="2.6",
        baseline=tmp_path / "lint/baseline.json",
        strict=True,
        report_unused_suppressions=True,
        per_file_ignores={"tests/**": ("GL4",)},
        gradcheck={"device": "cpu"},
    )


def test_defaults_exclude_environments():
    assert {".venv", "node_modules", "site-packages"} <= set(DEFAULT_EXCLUDE)


class TestSchemaForEditors:
    def test_has_every_key(self):
        assert set(SCHEMA["properties"]) == set(KEYS)

    def test_has_every_key_of_the_run_time_engine(self):
        described = SCHEMA["properties"]["gradcheck"]["properties"]
        # A configuration cannot ask for variables of the environment.
        assert set(described) == {item.name for item in fields(Settings)} - {"pass_env"}

    @pytest.mark.parametrize(
        "table",
        [
            {},
            {"select": ["default", "GL2", "GL301", "ALL"], "per-file-ignores": {"a.py": ["GL4"]}},
            {
                "target-torch": "2.6",
                "baseline": "b.json",
                "rule-packs": ["p"],
                "model-packs": ["m"],
                "gradcheck": {"devices": ["cpu"], "timeout": 60, "modes": ["checkpoint"]},
            },
            {"selct": []},
            {"select": "GL2"},
            {"target-torch": "newest"},
            {"per-file-ignores": {"a.py": "GL4"}},
            {"report-unused-suppressions": 1},
            {"gradcheck": {"device": "cpu"}},
            {"gradcheck": {"modes": ["fast"]}},
            {"gradcheck": {"timeout": 0}},
            {"gradcheck": {"surrogates": {"ops.Round": 1}}},
        ],
    )
    def test_accepts_what_gradlint_accepts(self, table):
        try:
            config = parse_config(table, Path("/r/gradlint.toml"))
            read_settings(config.gradcheck, "gradlint.toml")
        except ConfigError:
            accepted = False
        else:
            accepted = True
        assert jsonschema.Draft7Validator(SCHEMA).is_valid(table) is accepted
