"""Which Functions are checked, on what, and with which settings."""

from pathlib import Path

import pytest

from gradcheck_tool.config import ConfigError
from gradcheck_tool.gradcheck import modes
from gradcheck_tool.harness.functions import FunctionRef, Rows
from gradcheck_tool.harness.settings import MODES, Settings, check_dtypes, parse_size, read_settings
from gradcheck_tool.harness.units import make_units, matching, shard, unpack_unit


def refs(*names):
    return [
        FunctionRef(f"/x/{name}.py", Rows(1, 9), name, f"pkg.{name.lower()}", "/x", backward=Rows(4, 9))
        for name in names
    ]


class TestTargets:
    def listed(self, gradcheck, *arguments):
        result = gradcheck("--list", *arguments)
        assert result.exit_code == 0, result.output
        return result.stdout.split()

    def test_the_current_folder_a_file_a_package_and_a_name(self, ops, project, gradcheck):
        project("pkg/__init__.py")
        project("pkg/more.py", "import torch\nclass More(torch.autograd.Function): forward = None")
        both = ["ops.Sine[cpu]", "ops.Cube[cpu]"]
        assert self.listed(gradcheck) == [*both, "pkg.more.More[cpu]"]
        assert self.listed(gradcheck, "ops.py") == both
        assert self.listed(gradcheck, "ops") == both
        assert self.listed(gradcheck, "pkg") == ["pkg.more.More[cpu]"]
        assert self.listed(gradcheck, "pkg.more") == ["pkg.more.More[cpu]"]
        assert self.listed(gradcheck, "ops:Cube") == ["ops.Cube[cpu]"]
        assert self.listed(gradcheck, "ops.py:Cube", "ops.py", "ops:Cube") == both

    def test_an_installed_package_that_is_not_imported(self, gradcheck, project):
        assert "torch.utils.checkpoint.CheckpointFunction[cpu]" in self.listed(
            gradcheck, "torch.utils.checkpoint"
        )

    @pytest.mark.parametrize(
        ("target", "why"),
        [
            ("absent.py", "absent.py: no such file, folder or module"),
            ("a-b", "a-b: no such file, folder or module"),
            ("sys", "sys: has no source file"),
            ("ops:Absent", "ops:Absent: no torch.autograd.Function called 'Absent' there"),
        ],
    )
    def test_a_target_that_means_nothing_ends_the_run(self, ops, gradcheck, target, why):
        result = gradcheck(target)
        assert result.exit_code == 2
        assert result.stderr == f"gradlint: error: {why}\n"

    def test_what_the_configuration_excludes(self, ops, project, gradcheck):
        (project.folder / "pyproject.toml").write_text('[tool.gradlint]\nexclude = ["ops.py"]\n')
        assert self.listed(gradcheck) == []
        assert len(self.listed(gradcheck, "ops.py")) == 2


class TestUnits:
    def test_every_function_on_every_device_in_every_dtype(self):
        settings = Settings(devices=("cpu", "cuda"), dtypes=("float32", "bfloat16"))
        assert [unit.name for unit in make_units(refs("A"), settings)] == [
            "pkg.a.A[cpu-float32]",
            "pkg.a.A[cpu-bfloat16]",
            "pkg.a.A[cuda-float32]",
            "pkg.a.A[cuda-bfloat16]",
        ]

    def test_plain_data_and_back(self):
        (unit,) = make_units(refs("A"), Settings())
        assert unpack_unit(unit.packed()) == unit

    @pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
    def test_shards_are_a_partition(self, count):
        units = make_units(refs(*"ABCDEFG"), Settings())
        parts = [shard(units, f"{index}/{count}") for index in range(1, count + 1)]
        assert sorted(unit.name for part in parts for unit in part) == [unit.name for unit in units]
        assert max(map(len, parts)) - min(map(len, parts)) <= 1

    @pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/", "a/b", "1/0", "-1/2"])
    def test_what_is_no_shard(self, text):
        with pytest.raises(ValueError, match="no shard"):
            shard([], text)

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            ("soft", "Softmax Softplus"),
            ("soft and not plus", "Softmax"),
            ("softmax or relu", "Softmax Relu"),
            ("not (soft or relu)", "Norm"),
            ("pkg.norm", "Norm"),
        ],
    )
    def test_expressions_as_pytest_takes_them(self, expression, expected):
        units = make_units(refs("Softmax", "Softplus", "Relu", "Norm"), Settings())
        assert [unit.ref.qualname for unit in matching(units, expression)] == expected.split()

    @pytest.mark.parametrize("expression", ["a b", "f(x)", "", "1 + 1"])
    def test_expressions_without_a_meaning(self, expression):
        with pytest.raises(ValueError, match=r"expression|meaning"):
            matching(make_units(refs("A"), Settings()), expression)


class TestSettings:
    def test_the_modes_are_those_of_the_engine(self):
        assert tuple(modes.MODES) == MODES

    def test_every_key_can_be_configured(self):
        table = {
            "devices": ["cpu", "cuda:1"],
            "dtypes": ["bfloat16"],
            "seed": 3,
            "timeout": 7,
            "memory": "2G",
            "cases": 2,
            "modes": ["autocast"],
            "surrogates": {"pkg.ops.Round": "straight-through"},
            "plots": "heat",
        }
        settings = read_settings(table, "pyproject.toml")
        assert settings.memory == 2 * 2**30
        assert settings.timeout == 7.0
        assert settings.surrogates == {"pkg.ops.Round": "straight-through"}

    @pytest.mark.parametrize(
        ("table", "why"),
        [
            ({"timeuot": 3}, "unknown key `gradcheck.timeuot`; did you mean `timeout`?"),
            ({"timeout": "long"}, "`gradcheck.timeout`: must be a number of seconds"),
            ({"seed": -1}, "`gradcheck.seed`: must be a whole number"),
            ({"memory": 4}, "`gradcheck.memory`: must be a size"),
            ({"dtypes": ["float31"]}, "no dtype 'float31'; did you mean 'float32'?"),
            ({"modes": ["fast"]}, "`gradcheck.modes`: must be some of"),
            ({"devices": ["cdua"]}, "`gradcheck.devices`: no device 'cdua'; did you mean 'cuda'?"),
            ({"devices": ["cuda:first"]}, "`gradcheck.devices`: no device 'cuda:first'"),
            ({"devices": "cpu"}, "`gradcheck.devices`: must be a list of strings"),
            ({"surrogates": ["x"]}, "`gradcheck.surrogates`: must be a table"),
        ],
    )
    def test_what_cannot_be_used_names_the_key(self, table, why):
        with pytest.raises(ConfigError) as error:
            read_settings(table, "pyproject.toml")
        assert why in str(error.value)

    @pytest.mark.parametrize(
        ("text", "size"),
        [("512", 512), ("512M", 512 << 20), ("4GB", 4 << 30), ("1.5 GiB", 3 << 29), ("2k", 2048)],
    )
    def test_sizes(self, text, size):
        assert parse_size(text) == size

    @pytest.mark.parametrize("text", ["", "M", "4X", "-1G"])
    def test_what_is_no_size(self, text):
        with pytest.raises(ValueError, match="no size"):
            parse_size(text)

    def test_only_types_that_have_gradients(self):
        with pytest.raises(ValueError, match="int64"):
            check_dtypes(("int64",))

    @pytest.mark.parametrize(
        "arguments",
        [
            ("--dtype", "float31"),
            ("--device", "gpu"),
            ("--memory", "lots"),
            ("--shard", "3/2"),
            ("-k", "a b"),
            ("--fail-on", "nothing"),
            ("--select", "GC9"),
            ("--output-format", "jsno"),
        ],
    )
    def test_options_without_a_meaning_are_one_line_and_status_2(self, ops, gradcheck, arguments):
        result = gradcheck(*arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith("gradlint: error: ")
        assert len(result.stderr.splitlines()) == 1


def test_a_selection_of_nothing_is_told(ops, gradcheck):
    result = gradcheck("-k", "tanh")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "None of 2 autograd Functions is selected.\n"


def test_the_row_of_a_finding_about_the_process_is_that_of_backward():
    from gradcheck_tool.harness.outcomes import environment_finding

    (unit,) = make_units(refs("A"), Settings())
    finding = environment_finding("GC304", unit, "message", {})
    assert (finding.location.filename, finding.location.start.row) == (str(Path("/x/A.py")), 4)
    assert finding.evidence["diagnosis"] == "crash"
