"""What the recorder keeps of calls made in this process, and what their replay gives."""

import threading

import pytest
import torch

from gradcheck_tool.harness.record import store
from gradcheck_tool.harness.record.calls import arguments_of, cotangents_of, digest_of, replay
from gradcheck_tool.harness.record.kinds import kind_of
from gradcheck_tool.harness.record.recorder import Recorder


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, k=2):
        ctx.save_for_backward(x, y)
        ctx.k = k
        return torch.sin(x) * y * k

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * torch.cos(x) * y * ctx.k, g * torch.sin(x) * ctx.k, None


class Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = torch.rand_like(x) > 0.5
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


class Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, how):
        return how(x)

    @staticmethod
    def backward(ctx, g):
        return g, None


class Overwrite(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)

    @staticmethod
    def backward(ctx, g):
        return g * 3


class Plain(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Locked:
    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, x):
        return x * 2


class First:
    def __init__(self, names):
        self.names = names

    def __call__(self, x):
        return x * len(self.names)


early = Scale.apply


def wanted(*shape, **options):
    return torch.ones(*shape, requires_grad=True, **options)


class Cache:
    """A recorder that is at work inside `with`, and what it stored."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        self._end = Recorder(self.folder).install()

    def __exit__(self, *_):
        self._end()

    def __getitem__(self, name):
        return store.load(self.folder, name)


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path)


def test_bound_before_and_after_by_class_and_by_subclass(cache):
    with cache:

        class Local(Scale):
            pass

        early(wanted(1), wanted(1))
        late = Scale.apply
        late(wanted(1, 1), torch.ones(1, 1))
        Scale.apply(wanted(1, 1, 1), torch.ones(1, 1, 1), 4)
        Local.apply(wanted(1), torch.ones(1))
    assert sorted(arguments_of(call)[0][0].dim() for call in cache["Scale"]) == [1, 2, 3]
    assert len(cache[Local.__qualname__]) == 1


def test_nothing_is_kept_before_and_after(cache):
    early(wanted(1), wanted(1))
    with cache:
        pass
    early(wanted(1), wanted(1))
    assert cache["Scale"] == []


def test_kinds_can_be_read():
    tensors = (wanted(2, 3), torch.ones(3, 2, dtype=torch.bfloat16).t(), torch.ones(1).expand(4))
    kind = kind_of((*tensors, 2.5, "sum"), {"dim": 1})
    assert kind == "float32[:,:](grad) bfloat16[:,:](strided) float32[:](expanded) float 'sum' dim=int"


def test_replay_gives_the_same_bits(cache):
    x = torch.randn(300, 7, requires_grad=True)
    with cache:
        early(x, torch.randn(300, 7).double()).sum().backward()
        early(x.t(), torch.randn(7, 300))
        Drop.apply(x)
        Plain.apply(x.bfloat16())
    for function, count in ((Scale, 2), (Drop, 1), (Plain, 1)):
        calls = cache[function.__qualname__]
        assert len(calls) == count
        assert all(call.exact for call in calls)
        assert all(arguments_of(call)[0][0].data_ptr() % 64 == 0 for call in calls)
        assert [digest_of(replay(function, call)) for call in calls] == [call.outputs for call in calls]


def test_other_values_give_another_digest():
    assert digest_of(torch.zeros(2)) != digest_of(torch.tensor([0.0, 1e-40]))
    assert digest_of(torch.ones(5000)) != digest_of(torch.ones(5000) * 2)
    assert digest_of((torch.ones(2), None)) == digest_of(torch.ones(2))


def test_random_state_is_kept_where_the_forward_draws(cache):
    with cache:
        Drop.apply(wanted(9))
        Scale.apply(wanted(9), wanted(9))
    assert [call.surroundings.random is None for call in cache["Drop"] + cache["Scale"]] == [False, True]
    before = torch.get_rng_state()
    first, second = (replay(Drop, cache["Drop"][0]) for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(before, torch.get_rng_state())


def test_recording_draws_no_random_numbers(cache):
    torch.manual_seed(3)
    Drop.apply(wanted(9))
    expected = torch.rand(3)
    torch.manual_seed(3)
    with cache:
        Drop.apply(wanted(9))
    assert torch.equal(torch.rand(3), expected)


def test_layouts_offsets_and_common_memory(cache):
    q, k = torch.arange(48.0).view(6, 8)[1:].chunk(2, 1)
    with cache:
        early(q.requires_grad_(), k)
        early(torch.ones(1).expand(5, 3).requires_grad_(), torch.arange(15.0).view(3, 5).t())
    by_stride = {arguments_of(call)[0][0].stride(): arguments_of(call)[0] for call in cache["Scale"]}
    again_q, again_k = by_stride[8, 1]
    assert again_q.untyped_storage().data_ptr() == again_k.untyped_storage().data_ptr()
    assert torch.equal(again_q, q)
    assert torch.equal(again_k, k)
    assert (again_q.requires_grad, again_k.requires_grad) == (True, False)
    expanded, transposed = by_stride[0, 0]
    assert transposed.stride() == (1, 5)
    assert expanded.untyped_storage().nbytes() == 4


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, torch.complex64, torch.int64, torch.bool, torch.float8_e4m3fn]
)
def test_every_kind_of_number(cache, dtype):
    x = (torch.randn(70, 80) * 4).to(dtype)
    with cache:
        Through.apply(x, torch.clone)
    assert torch.equal(arguments_of(cache["Through"][0])[0][0].view(torch.uint8), x.view(torch.uint8))


def test_tensors_of_other_kinds(cache):
    sparse = torch.eye(3).to_sparse().requires_grad_()
    conjugate = torch.randn(3, dtype=torch.complex64).conj()
    with cache:
        Through.apply(sparse, torch.clone)
        Through.apply(conjugate, torch.clone)
        Through.apply(torch.nn.Parameter(torch.ones(2)), torch.clone)
    given = [arguments_of(call)[0][0] for call in cache["Through"]]
    (again,) = (x for x in given if x.is_sparse)
    assert torch.equal(again.to_dense(), sparse.to_dense())
    assert again.requires_grad
    assert any(x.is_complex() and torch.equal(x, conjugate) for x in given)
    assert any(isinstance(x, torch.nn.Parameter) and x.requires_grad for x in given)


def test_incoming_gradients_with_their_layouts(cache):
    cotangent = torch.arange(6.0).view(1, 2, 3).transpose(0, 2)
    with cache:
        early(wanted(2, 3), torch.ones(2, 3)).sum().backward()
        early(wanted(3, 2, 1), torch.ones(3, 2, 1)).backward(cotangent)
        early(wanted(4), torch.ones(4))
    by_rank = {arguments_of(call)[0][0].dim(): cotangents_of(call) for call in cache["Scale"]}
    assert by_rank[1] is None
    (of_sum,) = by_rank[2]
    assert of_sum.stride() == (0, 0)
    assert torch.equal(of_sum, torch.ones(2, 3))
    assert torch.equal(by_rank[3][0], cotangent)
    assert by_rank[3][0].stride() == cotangent.stride()


def test_arguments_are_those_from_before_the_call(cache):
    x = wanted(3) * 2
    with cache:
        Overwrite.apply(x)
    assert x.tolist() == [6.0, 6.0, 6.0]
    (call,) = cache["Overwrite"]
    assert arguments_of(call)[0][0].tolist() == [2.0, 2.0, 2.0]
    assert digest_of(replay(Overwrite, call)) == call.outputs


def test_calls_that_fail_are_not_kept(cache):
    with cache, pytest.raises(RuntimeError):
        early(wanted(2), wanted(3))
    assert cache["Scale"] == []


def test_of_many_calls_of_one_kind_a_few_are_kept(cache):
    with cache:
        for n in range(1, 300):
            early(wanted(n), torch.ones(n))
            early(wanted(n), torch.ones(n, dtype=torch.float64))
    assert len(cache["Scale"]) == 4


def test_recording_again_adds_what_is_new(cache):
    for shape in ((2,), (2,), (2, 2)):
        with cache:
            early(wanted(shape), wanted(shape))
    assert len(cache["Scale"]) == 2


def test_large_values_are_drawn_again(cache, tmp_path):
    with cache:
        early((torch.randn(1500, 1500) * 3 + 7).requires_grad_(), torch.zeros(1500, 1500))
    (call,) = cache["Scale"]
    x, zeros = arguments_of(call)[0]
    assert not call.exact
    assert call.outputs is None
    assert x.shape == (1500, 1500)
    assert float(x.detach().mean()) == pytest.approx(7, abs=0.1)
    assert float(x.detach().std()) == pytest.approx(3, abs=0.1)
    assert torch.equal(zeros, torch.zeros(1500, 1500))
    assert torch.equal(x, arguments_of(call)[0][0])
    assert sum(file.stat().st_size for file in tmp_path.rglob("*.call")) < 50_000


def test_what_cannot_be_stored_is_said(cache):
    with cache:
        Through.apply(wanted(2), Locked())
    (call,) = cache["Through"]
    assert "lock" in call.problem
    with pytest.raises(ValueError, match="not stored"):
        arguments_of(call)


def test_views_of_dicts_are_stored(cache):
    with cache:
        Through.apply(wanted(2), First({"a": 1, "b": 2}.keys()))
    assert replay(Through, cache["Through"][0]).tolist() == [2.0, 2.0]


def test_local_functions_are_stored_where_cloudpickle_is(cache):
    pytest.importorskip("cloudpickle")
    with cache:
        Through.apply(wanted(2), lambda x: x * 5)
    assert replay(Through, cache["Through"][0]).tolist() == [5.0, 5.0]


def test_autocast_is_part_of_a_call(cache):
    with cache, torch.autocast("cpu", torch.bfloat16):
        Through.apply(wanted(2, 2), torch.nn.functional.relu)
    assert cache["Through"][0].surroundings.autocast == {"cpu": "bfloat16"}


def test_calls_inside_transforms_are_left_alone(cache):
    with cache:
        gradient = torch.func.grad(lambda x: torch.func.vmap(Plain.apply)(x).sum())(torch.ones(3))
    assert gradient.tolist() == [2.0, 2.0, 2.0]
    assert cache["Plain"] == []


def test_a_broken_file_is_no_call(cache, tmp_path):
    with cache:
        early(wanted(2), wanted(2))
    (file,) = tmp_path.rglob("*.call")
    file.write_bytes(file.read_bytes()[:-20])
    assert cache["Scale"] == []
