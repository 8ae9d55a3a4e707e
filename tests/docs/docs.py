#!/usr/bin/env python3
"""The documents keep their promises. Usage: docs.py <repository> <build> <check>

tour    every command of every `sh tour` block runs and exits 0
yaml    every YAML block that is a whole file (begins with `tenon: 1`) passes `tenon validate`
links   every relative link of every Markdown file leads somewhere
rooms   every room has a README of at most 80 lines; every pass says Before, After, Cost
"""
import os, pathlib, re, subprocess, sys, tempfile

root, build, check = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
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
    """One folder for the blocks of one document, in order. `sdk/examples/` and `sdk/firmware/` are this repository's; PREFIX an installed Tenon."""
    with tempfile.TemporaryDirectory() as top:
        prefix = pathlib.Path(top) / "prefix"
        subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, capture_output=True)
        n = 0
        for doc in documents():
            commands = [c for b in blocks(doc.read_text(), "sh tour") for c in b.splitlines()]
            where = pathlib.Path(tempfile.mkdtemp(dir=top))
            for line in commands:
                n += 1
                command = re.split(r"\s{2,}#|^#", line)[0].strip()
                command = re.sub(r"(?<![\w/])sdk/(examples|firmware)/", rf"{root}/sdk/\1/", command)
                bin = prefix / "bin" if "PREFIX" in "".join(commands) else build / "bin"
                env = dict(os.environ, PATH=f"{bin}:{os.environ['PATH']}")
                r = subprocess.run(command.replace("PREFIX", str(prefix)), shell=True, cwd=where, env=env, capture_output=True, text=True)
                if r.returncode:
                    bad.append(f"{doc.relative_to(root)}: `{line.strip()}` exits {r.returncode}: {(r.stderr or r.stdout).strip()[:600]}")
        if n < 5:
            bad.append("hardly any command found: the check looks in the wrong place")


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
