# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/rules.md, the page of the rules of `nodewise check`, from the rules themselves."""

from __future__ import annotations

from pathlib import Path

from nodewise.nodes.rule import OWN_FOLDER, Rule, read_rules

PAGE = Path(__file__).parent.parent / "docs/rules.md"
_KINDS = {
    "value": "is what is wanted",
    "relation": "facts of one node fit together",
    "uniform": "most nodes of a group agree",
    "outlier": "is not far from its peers",
    "change": "is what it was when the node was last found well",
}


#: Values as TOML has them, and the empty text.
_SHOWN = {"True": "true", "False": "false", "": "empty"}


def _condition(rule: Rule) -> str:
    shown = {key: _SHOWN.get(str(value), str(value)) for key, value in rule.condition.items()}
    words = [f"{k.replace('_', ' ')} {shown[k]}" for k, v in rule.condition.items() if v is not True or k == "is"]
    words += [k.replace("_", " ") for k, v in rule.condition.items() if v is True and k != "is"]
    return f" ({', '.join(words)})" if words else ""


def page() -> str:
    """The page."""
    lines = [
        "# The rules of `nodewise check`",
        "",
        "Made from `src/nodewise/nodes/rules` by `tools/rules_page.py`. How rules are written: "
        "[adding a rule](adding-a-rule.md); how they are used: [checking a cluster](check.md).",
        "",
        *(f"- **{kind}**: {words}" for kind, words in _KINDS.items()),
    ]
    for file in sorted(OWN_FOLDER.glob("*.toml")):
        lines += ["", f"## {file.stem}", "", "| rule | reads | | why | do |", "| --- | --- | --- | --- | --- |"]
        for rule in read_rules(file):
            reads = ", ".join(f"`{p}`" for p in rule.reads)
            linked = f" [source]({rule.source})" if rule.source.startswith("https:") else f" ({rule.source})"
            why = rule.reason + linked
            lines.append(
                f"| {rule.id} | {reads} | {rule.severity}: {rule.kind}{_condition(rule)} | {why} | {rule.remedy} |"
            )
    return (
        "\n".join(lines)
        .replace("| head", "\\| head")
        .replace("| grep", "\\| grep")
        .replace("| tee", "\\| tee")
        .replace("| sort", "\\| sort")
        .replace("| tail", "\\| tail")
        + "\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page())
