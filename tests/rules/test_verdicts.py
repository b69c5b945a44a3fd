"""Which rule judges which event, what it says with the user's names, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradcheck_tool.domain import events as ev
from gradcheck_tool.trackers import events as told
from tests.rules.made_events import (
    HERE,
    RULES,
    again,
    attribute,
    backward,
    clip,
    contract,
    cut,
    defect,
    distributed,
    evaluate,
    event,
    freed,
    invalid,
    kept,
    method,
    mode,
    modified,
    named,
    no_graph,
    own,
    step,
    view,
)

REPORTED: list[tuple[str, ev.Event]] = [
    ("GL101", freed("same-root")),
    ("GL101", freed("shared-subgraph")),
    ("GL102", freed("carried", carrier="hidden")),
    ("GL102", freed("carried")),
    ("GL102", freed("outside-loop", carrier="mixing")),
    ("GL103", event(ev.NonScalarRoot, root="loss", call="backward")),
    ("GL103", event(ev.NonScalarRoot, root="loss", call="grad")),
    ("GL201", modified("inplace")),
    ("GL202", modified("optimizer")),
    ("GL203", modified("parameter-update")),
    ("GL203", modified("buffer")),
    ("GL204", view("multi-output")),
    ("GL204", view("no-grad")),
    ("GL204", view("function")),
    ("GL205", event(ev.UnversionedWrite, tensor="h", op="exp", how="h.data.zero_()")),
    (
        "GL205",
        event(ev.UnversionedWrite, tensor="w", op="checkpoint(net)", how="step()", unchecked="recomputed"),
    ),
    ("GL206", view("expanded")),
    ("GL207", view("inference")),
    ("GL207", invalid("inference-save")),
    ("GL207", invalid("inference-write")),
    ("GL208", invalid("out-with-grad")),
    ("GL209", invalid("resize-grad")),
    ("GL210", invalid("detach-view")),
    ("GL210", view("detach")),
    ("GL210", invalid("saved-detached")),
    ("GL301", event(ev.LeafWrite, tensor="w", write="w += 1")),
    ("GL301", event(ev.LeafWrite, tensor="w", write="w[0] = 1", through_view=True)),
    ("GL302", event(own("GradOfResultRead"), tensor="y")),
    ("GL303", event(own("RetainedTooLate"), tensor="y")),
    ("GL304", invalid("non-leaf-optimizer")),
    ("GL104", invalid("freed-field")),
    ("GL105", invalid("empty-inputs")),
    ("GL305", invalid("integer-grad")),
    ("GL320", invalid("data-dtype")),
    ("GL814", invalid("hook-return")),
    ("GL815", invalid("hook-result")),
    ("GL816", invalid("pack-hook")),
    ("GL816", invalid("unpack-hook")),
    ("GL817", invalid("reentrant-inputs")),
    ("GL309", invalid("grad-count")),
    ("GL322", invalid("optimizer-parameters")),
    ("GL323", invalid("number-of-many")),
    ("GL321", event(ev.UnguardedNone, input="w", call="w.grad.zero_", because="no-backward")),
    ("GL306", invalid("non-leaf-flag")),
    ("GL307", invalid("non-leaf-deepcopy")),
    ("GL309", invalid("grad-size")),
    ("GL310", invalid("hook-on-constant")),
    ("GL310", invalid("retain-grad-constant")),
    ("GL310", invalid("hook-on-result")),
    ("GL311", attribute("module-list")),
    ("GL311", attribute("module-dict")),
    ("GL312", attribute("parameter-list")),
    ("GL313", attribute("tensor")),
    ("GL314", attribute("moved-parameter")),
    ("GL315", event(own("ParameterOfResult"), tensor="y")),
    ("GL316", event(own("FlagWrite"), receiver="module", subject="net", name="requires_grad")),
    ("GL316", event(own("FlagWrite"), receiver="tensor", subject="p", name="require_grad")),
    ("GL317", event(own("ExhaustedParameters"), iterator="params", call="clip(params)", use="clip")),
    ("GL318", event(own("ParameterReplaced"), attribute="net.head", optimizer="opt")),
    ("GL319", event(own("UntrainedModule"), module="scorer", optimizer="opt")),
    ("GL401", again()),
    ("GL402", step("zeroed")),
    ("GL403", clip("stale")),
    ("GL403", clip("zeroed")),
    ("GL404", step("none", in_loop=True)),
    ("GL405", event(own("WindowDiscarded"), target="opt", optimizer="opt", condition="i % 4 == 0")),
    ("GL406", event(own("SchedulerStep"), scheduler="sched", optimizer="opt", early=True)),
    ("GL407", invalid("closure-missing")),
    ("GL408", event(told.UncalledMethod, receiver="optimizer", subject="opt", name="zero_grad")),
    ("GL411", clip("scaled")),
    ("GL412", step("scaled")),
    (
        "GL413",
        event(ev.ScalerError, kind="unscale-twice", scaler="scaler", method="unscale_", optimizer="opt"),
    ),
    (
        "GL413",
        event(ev.ScalerError, kind="unscale-after-step", scaler="scaler", method="unscale_", optimizer="opt"),
    ),
    ("GL413", event(ev.ScalerError, kind="step-twice", scaler="scaler", method="step", optimizer="opt")),
    ("GL413", event(ev.ScalerError, kind="never-scaled", scaler="scaler", method="update")),
    ("GL414", event(own("OptimizerRemade"), optimizer="opt", call="Adam(p)")),
    *(
        ("GL501", no_graph(reason))
        for reason in (
            *("constant", "no-grad", "detach", "data", "item", "numpy", "retensor"),
            *("non-differentiable", "frozen", "unknown"),
        )
    ),
    ("GL502", invalid("numpy-on-grad")),
    ("GL503", backward(breaks=(cut("retensor"),))),
    ("GL504", step("fresh", starved=(cut("no-grad"),))),
    ("GL505", event(own("ZeroGradient"), root="loss", op="round", tensor="w")),
    ("GL506", event(own("NonReparametrised"), distribution="dist", call="dist.sample()")),
    ("GL507", backward(made_leaf="loss.requires_grad_()")),
    ("GL508", invalid("not-implemented")),
    ("GL509", event(told.DroppedResult, tensor="x", call="x.detach()", name="detach")),
    ("GL510", mode("not-called")),
    ("GL511", mode("bare")),
    ("GL511", mode("tested")),
    ("GL511", mode("yielded")),
    ("GL512", mode("never-restored")),
    ("GL513", mode("enable-in-inference")),
    ("GL515", backward(constant_terms=(cut("non-differentiable"),))),
    ("GL515", backward(constant_terms=(cut("numpy"),))),
    ("GL601", kept("sum")),
    ("GL602", kept("append")),
    ("GL603", kept("attribute")),
    ("GL701", contract("gradient-count")),
    ("GL702", contract("not-a-tuple")),
    ("GL703", contract("save-non-tensor")),
    ("GL704", contract("dirty-not-returned")),
    ("GL705", contract("instance-call")),
    ("GL706", contract("missing-backward")),
    ("GL707", event(own("ListReturned"), function="Scale")),
    ("GL727", contract("gradient-misfit")),
    ("GL728", contract("backward-arguments")),
    ("GL708", defect("input-on-ctx")),
    ("GL709", defect("output-on-ctx")),
    ("GL710", defect("missing-return")),
    ("GL711", defect("direct-forward")),
    ("GL712", defect("save-twice")),
    ("GL713", defect("unmarked-write")),
    ("GL714", defect("writes-cotangent")),
    ("GL714", defect("writes-saved")),
    ("GL715", defect("hidden-tensors")),
    ("GL716", defect("untracked-backward")),
    ("GL717", defect("not-static")),
    ("GL718", defect("none-guard")),
    ("GL719", contract("cleared-saved")),
    ("GL720", defect("none-for-input")),
    ("GL720", defect("asks-for-another")),
    ("GL721", defect("state-on-class")),
    ("GL722", defect("unused-ctx")),
    ("GL723", defect("intermediate-kept")),
    ("GL801", event(ev.UnusedInput, input="x", root="loss", reason="unused")),
    ("GL801", event(ev.UnusedInput, input="x", root="loss", reason="no-grad")),
    ("GL801", event(ev.UnusedInput, input="x", root="loss", reason="rebound")),
    ("GL802", no_graph("create-graph")),
    ("GL803", backward(breaks=(cut("create-graph"),))),
    ("GL804", backward(create_graph=True)),
    ("GL805", event(ev.UnguardedNone, input="y", call="g.norm()")),
    ("GL806", event(told.HookMisuse, kind="mutates-gradient", subject="h", call="g.mul_(2)")),
    (
        "GL807",
        event(
            ev.ViewWrite,
            text="Output 0 of BackwardHookFunction is a view",
            tensor="y",
            write="y += 1",
            kind="function",
        ),
    ),
    ("GL808", event(own("ConstantCheckpoint"), call="ckpt()")),
    ("GL809", event(told.HookMisuse, kind="returns-nothing", subject="w", call="grad = grad * mask")),
    ("GL810", distributed("inner-module")),
    ("GL811", distributed("no-sync-backward")),
    ("GL813", distributed("inplace-collective")),
    ("GL901", named("torch.autograd.Variable")),
    ("GL902", method("context", "saved_variables")),
    ("GL903", method("tensor", "volatile")),
    ("GL904", named("torch.nn.utils.clip_grad_norm")),
    ("GL905", named("torch.nn.init.xavier_uniform")),
    ("GL906", named("torch.cuda.amp.custom_fwd")),
    ("GL906", named("torch.cuda.amp.autocast")),
    ("GL907", method("module", "register_backward_hook")),
    ("GL908", named("torch.utils.checkpoint.checkpoint")),
    ("GL909", named("torch.nn.MSELoss", "size_average")),
    ("GL910", method("tensor", "backward", "retain_variables")),
    ("GL912", method("tensor", "reinforce")),
    ("GL415", event(own("MaskedDecay"), parameter="weight", optimizer="opt")),
    ("GL516", event(own("EvalModeTraining"), module="model", call="model.eval()", optimizer="opt")),
    (
        "GL517",
        event(
            own("BroadcastLoss"), call="mse()", first="out", second="y", sizes=("(N, 1)", "(N,)"), warns=True
        ),
    ),
    ("GL818", event(own("InnerUpdateCut"), parameter="w", start="w.data", call="w.data - lr * g")),
    ("GL724", defect("unread-argument")),
    ("GL725", defect("unread-saved")),
    ("GL726", defect("ignores-cotangent")),
    ("GL729", defect("wrong-derivative")),
    ("GL730", defect("unset-on-path")),
    ("GL730", defect("never-set")),
    ("GL731", defect("grad-mode-in-forward")),
    ("GL732", defect("view-of-cotangent")),
    ("GL733", defect("truth-of-elements")),
    ("GL734", defect("saved-as-tensor")),
    ("GL735", defect("unset-gradient")),
    ("GL736", contract("apply-arguments")),
    ("GL324", event(own("FlagOfOtherType"), value="flag")),
    ("GL325", event(own("ParameterUnread"), module="Net", attribute="weight")),
    ("GL405", event(own("BatchDiscarded"), optimizer="opt", condition="i % k == 0")),
    ("GL820", event(own("UnsynchronisedStep"), optimizer="optimizer", model="ddp")),
    ("GL416", event(own("NeverStepped"), optimizer="optimizer_D")),
    ("GL417", event(own("GradientInState"), key="buffer")),
    (
        "GL418",
        event(own("ForeignGradients"), root="loss_d", optimizer="opt_d", foreign="loss_g", other="opt_g"),
    ),
    ("GL106", event(own("StateNotDetached"), method="Net.detach", detached="hidden", forgotten="cell")),
    ("GL520", event(own("OnlyDetached"), network="self.encoder", optimizer="self.optimizer")),
    ("GL326", event(own("WholeFrozen"), whole="net")),
    (
        "GL328",
        event(
            own("OptimizerCopied"), optimizer="opt_critic", first="opt_actor", given="actor", meant="critic"
        ),
    ),
    ("GL329", event(own("RegistrationAssigned"), attribute="x", method="register_buffer", kind="buffer")),
    ("GL330", event(own("ParameterGivenTwice"), parameter="w", made="f()", call="SGD([w, w])")),
    ("GL331", event(own("ParameterAssigned"), name="w")),
    ("GL522", event(own("ModeForgotten"), module="Net", mode="mode", call="self.norm.train()")),
    ("GL523", event(own("SwitchAsCondition"), module="net", call="net.train()", mode="training")),
    ("GL212", event(own("TemporaryWritten"), target="x[0]", source="x", attribute="data")),
    ("GL213", event(own("SnapshotRestored"), module="net", snapshot="net.state_dict()")),
    ("GL327", event(own("LayerMade"), module="Net", layer="nn.Linear(3, 4)")),
    ("GL518", event(own("Cancelled"), sum="x + (q - x)")),
    ("GL519", event(own("NoiseLikelihood"), noise="noise", shifted="mean + std * noise")),
    ("GL524", event(own("TrackedBaseline"), value="critic(state)")),
    ("GL525", event(own("TrackedTarget"), network="critic", made="critic(x)")),
    ("GL313", event(own("InitialisedTensor"), module="Net", attribute="weights")),
    ("GL521", event(own("HiddenInfinity"), operand="x", operation="sqrt")),
    ("GL604", event(own("GraphAbsorbed"), name="center", kind="buffer")),
    ("GL211", event(own("CallersTensorDetached"), tensor="x")),
    ("GL819", event(own("HookRegisteredAgain"), method="Net.forward", call="register_forward_hook")),
    ("GL316", event(own("FlagWrite"), receiver="state-dict", subject="p", name="requires_grad")),
    ("GL318", event(own("ParameterReplaced"), attribute="net.table", optimizer="opt", is_new=True)),
    ("GL401", again(unreached=HERE)),
    ("GL505", event(own("ZeroGradient"), root="loss", op="x.round()", tensor="weight", all_of_them=False)),
    ("GL509", event(told.DroppedResult, tensor="p.data", call="p.data.clamp(0, 1)", name="clamp")),
    (
        "GL809",
        event(told.HookMisuse, kind="returns-nothing", subject="layer", call="out + v", passes="output"),
    ),
]

LEFT_ALONE: dict[str, tuple[ev.Event, ...]] = {
    "clipping what callers may have differentiated": (clip("none"),),
    "a plain backward": (backward(),),
    "a backward that keeps its graph": (backward(retain_graph=True),),
    "deliberate cuts in a loss": (
        backward(breaks=(cut("detach"), cut("item"), cut("data"), cut("no-grad"))),
    ),
    "a step on fresh gradients": (step("fresh", in_loop=True),),
    "a step on unknown gradients": (step("unknown", in_loop=True),),
    "a step that had gradients on another visit": (
        step("zeroed", in_loop=True),
        step("fresh", in_loop=True),
    ),
    "a step at the top of a loop that applies the previous gradients": (
        step("none", in_loop=True),
        step("fresh", in_loop=True),
    ),
    "a first step outside a loop, as for a scheduler": (step("none"),),
    "a scaler's own step": (step("scaled", scaler="scaler"),),
    "some parameters without a gradient": (step("fresh", "none", in_loop=True),),
    "clipping of fresh gradients": (clip("fresh"),),
    "clipping where gradients are fresh on another visit": (clip("none"), clip("fresh")),
    "measuring a norm": (clip("none", measures=True), clip("scaled", measures=True)),
    "a scheduler after its optimizer": (
        event(own("SchedulerStep"), scheduler="sched", optimizer="opt", early=False),
    ),
    "clearing fresh gradients": (event(told.GradientsCleared, target="opt", fresh=True),),
    "Variable in isinstance": (named("torch.autograd.Variable", called=False),),
    "today's names": (
        named("torch.nn.utils.clip_grad_norm_"),
        named("torch.nn.init.xavier_uniform_"),
        named("torch.amp.autocast"),
        named("torch.nn.MSELoss", "reduction"),
        method("context", "saved_tensors"),
        method("module", "register_full_backward_hook"),
        method("tensor", "backward", "retain_graph"),
    ),
    "a checkpoint that says its variant": (
        named("torch.utils.checkpoint.checkpoint", "use_reentrant"),
        named("torch.utils.checkpoint.checkpoint", "**"),
    ),
    "a module's own attribute": (event(own("FlagWrite"), receiver="module", subject="net", name="frozen"),),
    "requires_grad of a tensor": (
        event(own("FlagWrite"), receiver="tensor", subject="p", name="requires_grad"),
    ),
    "other methods as statements": (
        event(told.DroppedResult, tensor="x", call="x.register_hook(f)", name="register_hook"),
        event(told.UncalledMethod, receiver="optimizer", subject="opt", name="param_groups"),
        event(told.UncalledMethod, receiver="unknown", subject="x", name="step"),
    ),
    "volatile of something else": (method("unknown", "volatile"), named("volatile_lib.f", "volatile")),
}


@pytest.mark.parametrize(("code", "reported"), REPORTED)
def test_a_rule_reports_its_event(code: str, reported: ev.Event) -> None:
    findings = evaluate(reported)
    assert [finding.code for finding in findings] == [code]
    message = findings[0].message
    assert message
    assert not message.endswith(".")
    assert "``" not in message


def test_every_rule_is_judged_here() -> None:
    assert {code for code, _ in REPORTED} == {rule.code for rule in RULES.known if rule.code.startswith("GL")}


@pytest.mark.parametrize("events", LEFT_ALONE.values(), ids=LEFT_ALONE.keys())
def test_what_is_right_is_left_alone(events: tuple[ev.Event, ...]) -> None:
    assert evaluate(*events) == []


def test_a_step_that_a_carried_graph_meets_is_explained_by_what_carries_it() -> None:
    (finding,) = evaluate(replace(modified("optimizer"), carrier="hidden"))
    assert "detach `hidden`" in finding.message


@pytest.mark.parametrize(("tensor", "words"), [("exp", "saved its result"), ("h", "saved `h`")])
def test_a_saved_result_is_not_named_twice(tensor: str, words: str) -> None:
    (finding,) = evaluate(replace(modified("inplace"), tensor=tensor))
    assert words in finding.message


def test_engine_errors_foretell_the_engines_own_text() -> None:
    assert evaluate(freed("same-root"))[0].predicts == "PyTorch says this"


@pytest.mark.parametrize(
    ("reported", "names"),
    [
        (freed("carried", carrier="hidden"), ["`hidden`", "`loss`", "`a.backward()`"]),
        (modified("inplace"), ["`exp`", "`h`", "`h.add_(1)`", "`loss`"]),
        (again(), ["`opt`", "`opt.zero_grad()`"]),
        (event(ev.LeafWrite, tensor="self.w", write="self.w += 1"), ["`self.w`", "`self.w += 1`"]),
    ],
)
def test_messages_use_the_users_names(reported: ev.Event, names: list[str]) -> None:
    (finding,) = evaluate(reported)
    assert all(name in finding.message for name in names)


def test_retain_graph_is_never_the_first_advice() -> None:
    advice = evaluate(freed("same-root"))[0].message.split("; ", 1)[1]
    assert advice.index("compute it again") < advice.index("retain_graph")
    assert "retain_graph=True" not in evaluate(freed("shared-subgraph"))[0].message
