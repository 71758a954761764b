"""Hooks of MkDocs for pages that are also read in the repository."""

import os
import re

LINK = re.compile(r"\]\((\.\./[^)#]*)(#[^)]*)?\)")
FENCE = re.compile(r"^```(\w+) ([\w.-]+)$", re.MULTILINE)


def on_page_markdown(markdown, page, config, files):
    """Makes links to files of the repository absolute, and names of code blocks titles."""
    folder = os.path.dirname(page.file.abs_src_path)
    root = os.path.dirname(config.config_file_path)

    def replace(match):
        target = os.path.normpath(os.path.join(folder, match[1]))
        if target.startswith(config.docs_dir + os.sep):
            return match[0]
        path = os.path.relpath(target, root)
        if not os.path.exists(target):
            raise FileNotFoundError(f"{page.file.src_path} links to {path}, which is not there")
        kind = "tree" if os.path.isdir(target) else "blob"
        return f"]({config.extra['repository']}/{kind}/main/{path}{match[2] or ''})"

    markdown = LINK.sub(replace, markdown)
    markdown = FENCE.sub(r'```\1 title="\2"', markdown)
    return markdown.replace("```output title", "```text title")
