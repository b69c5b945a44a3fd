"""`python -m gradcheck_tool` is `gradlint`."""

from gradcheck_tool.cli import main

main()
