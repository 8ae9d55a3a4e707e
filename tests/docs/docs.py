#!/usr/bin/env python3
"""The documents keep their promises. Usage: docs.py <repository> <build> <check>

tour    every command of the `sh tour` blocks of the README and of sdk/docs/firmware.md runs and exits 0
yaml    every YAML block that is a whole file (begins with `tenon: 1`) passes `tenon validate`
links   every relative link of every Markdown file leads somewhere
rooms   every room has a README of at most 80 lines; every pass says Before, After, Cost
"""
import os, pathlib, re, subprocess, sys, tempfile

root, build, check = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
tenon = build / "bin" / "tenon"
bad = []


def documents():
    for folder in (".", "sdk", "core", "passes", "plugins", "pipelines", "tests"):
        for p in (root / folder).glob("*.md" if folder == "." else "**/*.md"):
            if "build" not in p.relative_to(root).parts[:1]:
                yield p


def blocks(text, info):
    return re.findall(r"^```" + info + r"\n(.*?)^```", text, re.M | re.S)


def tour():
    env = dict(os.environ, PATH=f"{build / 'bin'}:{os.environ['PATH']}")
    for doc in ("README.md", "sdk/docs/firmware.md"):
        (block,) = blocks((root / doc).read_text(), "sh tour")
        with tempfile.TemporaryDirectory() as where:
            for line in block.splitlines():
                command = re.sub(r"sdk/(examples|firmware)/", rf"{root}/sdk/\1/", line.split("#")[0].strip())
                if command:
                    r = subprocess.run(command, shell=True, cwd=where, env=env, capture_output=True, text=True)
                    if r.returncode:
                        bad.append(f"{doc}: `{command}` exits {r.returncode}: {r.stderr.strip()[:400]}")


def yaml():
    n = 0
    with tempfile.TemporaryDirectory() as where:
        for doc in documents():
            for block in blocks(doc.read_text(), "yaml"):
                if not block.startswith("tenon: 1"):
                    continue
                n += 1
                path = pathlib.Path(where) / f"block{n}.yaml"
                path.write_text(block)
                r = subprocess.run([tenon, "validate", path], capture_output=True, text=True)
                if r.returncode:
                    bad.append(f"{doc.relative_to(root)}: a YAML block is not valid: {r.stderr.strip()[:400]}")
    if n == 0:
        bad.append("no YAML block found: the check looks in the wrong place")


def links():
    for doc in documents():
        prose = re.sub(r"^```.*?^```", "", doc.read_text(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#\s]+)", prose):
            if not re.match(r"[a-z]+:", target) and not (doc.parent / target).exists():
                bad.append(f"{doc.relative_to(root)}: link to {target}, which does not exist")


def rooms():
    names = [p for p in (root / "core").iterdir() if p.is_dir()] + [p for p in (root / "plugins").glob("*/*") if p.is_dir()]
    names += [root / r for r in ("passes", "pipelines", "sdk", "sdk/runtime", "tests")]
    for room in names:
        readme = room / "README.md"
        if not readme.exists() and not (room.parent / "README.md").exists():
            bad.append(f"{room.relative_to(root)} has no README.md")
        elif readme.exists() and len(readme.read_text().splitlines()) > 80:
            bad.append(f"{readme.relative_to(root)} is longer than a screen")
    for p in (root / "passes").glob("*.cpp"):
        for word in ("Before:", "After", "Cost:"):
            if word not in p.read_text():
                bad.append(f"passes/{p.name} does not say '{word}'")


{"tour": tour, "yaml": yaml, "links": links, "rooms": rooms}[check]()
print("\n".join(bad) or f"docs {check}: ok")
sys.exit(bool(bad))
