"""The language server in Neovim, which runs without a screen."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEOVIM = shutil.which("nvim")
WRONG = "import torch\n\nx = torch.ones(3, requires_grad=True)\ny = x.exp()\ny.mul_(2)\ny.sum().backward()\n"
# Opens the file, waits for a diagnostic, takes back the write, waits until it is gone.
SCRIPT = """
local command, file, out = ...
vim.cmd("edit " .. file)
local root = vim.fn.fnamemodify(file, ":h")
local id = vim.lsp.start_client({ name = "gradlint", cmd = vim.split(command, " "), root_dir = root })
vim.lsp.buf_attach_client(0, id)
local told = {}
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 20)
for _, one in ipairs(vim.diagnostic.get(0)) do
  table.insert(told, { row = one.lnum, message = one.message, source = one.source })
end
vim.api.nvim_buf_set_lines(0, 4, 5, false, { "pass" })
local gone = vim.wait(60000, function() return #vim.diagnostic.get(0) == 0 end, 20)
vim.fn.writefile({ vim.json.encode({ told = told, gone = gone }) }, out)
vim.lsp.stop_client(id)
vim.cmd("qall!")
"""


@pytest.mark.skipif(NEOVIM is None, reason="there is no Neovim")
def test_neovim_shows_findings_and_takes_them_back(tmp_path):
    (tmp_path / "gradlint.toml").write_text("")
    (tmp_path / "a.py").write_text(WRONG)
    (tmp_path / "script.lua").write_text(SCRIPT)
    out = tmp_path / "told.json"
    command = f"{sys.executable} -m gradcheck_tool server"
    call = f"loadfile('{tmp_path / 'script.lua'}')('{command}', '{tmp_path / 'a.py'}', '{out}')"
    subprocess.run(
        [NEOVIM, "--headless", "--clean", "-c", f"lua {call}"],
        cwd=ROOT,
        capture_output=True,
        timeout=240,
        check=True,
    )
    seen = json.loads(out.read_text())
    assert [(one["row"], one["source"]) for one in seen["told"]] == [(5, "gradlint")]
    assert "saved its result" in seen["told"][0]["message"]
    assert seen["gone"]
