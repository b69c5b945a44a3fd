"""The language server in Neovim and in Emacs, which run without a screen, with the settings that the guide shows."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "editors.md").read_text(encoding="utf-8")
WRONG = "import torch\n\nx = torch.ones(3, requires_grad=True)\ny = x.exp()\ny.mul_(2)\ny.sum().backward()\n"
EXPECTED = "saved its result"
# Waits for a diagnostic, takes back the write, waits until it is gone.
LUA = """
local out = ...
local told = {}
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 20)
for _, one in ipairs(vim.diagnostic.get(0)) do
  table.insert(told, { row = one.lnum + 1, message = one.message })
end
vim.api.nvim_buf_set_lines(0, 4, 5, false, { "pass" })
local gone = vim.wait(60000, function() return #vim.diagnostic.get(0) == 0 end, 20)
vim.fn.writefile({ vim.json.encode({ told = told, gone = gone }) }, out)
vim.cmd("qall!")
"""
ELISP = """
(require 'eglot)
(require 'json)
(defun await (condition)
  (let ((left 600))
    (while (and (> left 0) (not (funcall condition)))
      (accept-process-output nil 0.1)
      (setq left (1- left)))
    (funcall condition)))
(find-file (getenv "FILE"))
(apply #'eglot (eglot--guess-contact))
(await #'flymake-diagnostics)
(let ((told (mapcar (lambda (one) `((row . ,(line-number-at-pos (flymake-diagnostic-beg one)))
                                    (message . ,(flymake-diagnostic-text one))))
                    (flymake-diagnostics))))
  (goto-char (point-min))
  (search-forward "y.mul_(2)")
  (replace-match "pass")
  (run-hooks 'post-command-hook)
  (eglot--signal-textDocument/didChange)
  (let ((gone (await (lambda () (null (flymake-diagnostics))))))
    (with-temp-file (getenv "OUT")
      (insert (json-encode `((told . ,(vconcat told)) (gone . ,(if gone t :json-false))))))))
"""


def shown(language, having):
    """The setting of the guide in this language that has this text."""
    blocks = re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    return next(block for block in blocks if having in block)


@pytest.fixture
def folder(tmp_path):
    """A project with a finding, and the command `gradlint` of this checkout."""
    (tmp_path / "gradlint.toml").write_text("")
    (tmp_path / "a.py").write_text(WRONG)
    command = tmp_path / "bin" / "gradlint"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m gradcheck_tool "$@"\n')
    command.chmod(0o755)
    return tmp_path


def edited(folder, *command):
    """What the editor was told about the file, and whether that went with the mistake."""
    out = folder / "told.json"
    subprocess.run(
        command,
        cwd=folder,
        env={
            **os.environ,
            "HOME": str(folder),
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "FILE": str(folder / "a.py"),
            "OUT": str(out),
        },
        capture_output=True,
        timeout=240,
        check=True,
    )
    return json.loads(out.read_text())


def neovim_reads_the_new_setting(neovim):
    version = subprocess.run([neovim, "--version"], capture_output=True, text=True, check=True).stdout
    major, minor = re.match(r"NVIM v(\d+)\.(\d+)", version).groups()
    return (int(major), int(minor)) >= (0, 11)


def test_neovim_shows_findings_and_takes_them_back(folder):
    neovim = shutil.which("nvim")
    if neovim is None:
        pytest.skip("there is no Neovim")
    setting = "vim.lsp.config" if neovim_reads_the_new_setting(neovim) else "vim.lsp.start_client"
    (folder / "init.lua").write_text(shown("lua", setting))
    (folder / "script.lua").write_text(LUA)
    call = f"lua loadfile('{folder / 'script.lua'}')('{folder / 'told.json'}')"
    seen = edited(folder, neovim, "--headless", "-u", str(folder / "init.lua"), "a.py", "-c", call)
    assert [one["row"] for one in seen["told"]] == [6]
    assert EXPECTED in seen["told"][0]["message"]
    assert seen["gone"]


def test_emacs_shows_findings_and_takes_them_back(folder):
    emacs = shutil.which("emacs")
    if (
        emacs is None
        or subprocess.run(
            [emacs, "--batch", "--eval", "(require 'eglot)"], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("there is no Emacs with Eglot")
    (folder / "init.el").write_text(shown("elisp", "eglot-server-programs"))
    (folder / "script.el").write_text(ELISP)
    seen = edited(folder, emacs, "--batch", "-l", str(folder / "init.el"), "-l", str(folder / "script.el"))
    assert [one["row"] for one in seen["told"]] == [6]
    assert EXPECTED in seen["told"][0]["message"]
    assert seen["gone"]
