#!/usr/bin/env python3
"""The documents keep their promises. Usage: docs.py <repository> <build> <check>

tour    every command of every `sh tour` block runs and exits 0; every SVG that a document shows is what its commands make
yaml    every YAML block that is a whole file (begins with `tenon: 1`) passes `tenon validate`
codes   every example of a page of a code brings the code about, with the words that the page quotes; every code of storage
        has an example or a test that plants it, and a row in storage-plan.md
fields  storage-plan.md names every field of request and plan, and every member of tenon/c/planner.h
links   every relative link of every Markdown file leads somewhere
rooms   every room has a README of at most 80 lines; every pass says Before, After, Cost
"""
import json, os, pathlib, re, subprocess, sys, tempfile

root, build, check = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
tenon = build / "bin" / "tenon"
bad = []


def documents():
    for folder in (".", "sdk", "core", "passes", "plugins", "pipelines", "tests"):
        for p in (root / folder).glob("*.md" if folder == "." else "**/*.md"):
            if "build" not in p.relative_to(root).parts[:1]:
                yield p


def fences(text):
    """(info, content) of each fenced block."""
    info, lines = None, []
    for line in text.splitlines():
        if info is None and line.startswith("```"):
            info, lines = line[3:], []
        elif line.startswith("```"):
            yield info, "".join(f"{l}\n" for l in lines)
            info = None
        else:
            lines.append(line)


def blocks(text, info):
    return [content for i, content in fences(text) if i == info]


def write_files(text, where):
    """A block that begins "```LANGUAGE FILE" is that file."""
    for info, content in fences(text):
        if re.fullmatch(r"\w+ [\w-]+\.\w+", info):
            (where / info.split()[1]).write_text(content)


def tour():
    """One folder for the blocks of one document, in order. `sdk/examples/` and their like are this repository's; PREFIX an installed Tenon."""
    with tempfile.TemporaryDirectory() as top:
        prefix = pathlib.Path(top) / "prefix"
        subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, capture_output=True)
        n = 0
        for doc in documents():
            commands = [c for b in blocks(doc.read_text(), "sh tour") for c in b.splitlines()]
            where = pathlib.Path(tempfile.mkdtemp(dir=top))
            write_files(doc.read_text(), where)
            for line in commands:
                n += 1
                command = re.split(r"\s{2,}#|^#", line)[0].strip()
                command = re.sub(r"(?<![\w/])sdk/(examples|firmware|requests)/", rf"{root}/sdk/\1/", command)
                bin = prefix / "bin" if "PREFIX" in "".join(commands) else build / "bin"
                env = dict(os.environ, PATH=f"{bin}:{os.environ['PATH']}")
                r = subprocess.run(command.replace("PREFIX", str(prefix)), shell=True, cwd=where, env=env, capture_output=True, text=True)
                if r.returncode:
                    bad.append(f"{doc.relative_to(root)}: `{line.strip()}` exits {r.returncode}: {(r.stderr or r.stdout).strip()[:600]}")
            for shown in re.findall(r"!\[[^]]*\]\(([^)]+\.svg)\)", doc.read_text()):
                made = where / pathlib.Path(shown).name
                if os.environ.get("TENON_BLESS") and made.exists():
                    (doc.parent / shown).write_bytes(made.read_bytes())
                if not made.exists() or made.read_bytes() != (doc.parent / shown).read_bytes():
                    bad.append(f"{doc.relative_to(root)}: {shown} is not what the commands make")
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


def run_example(text):
    """What the commands of the page print, in a folder with its files, and the last one's exit code."""
    out, code = "", 0
    with tempfile.TemporaryDirectory() as where:
        write_files(text, pathlib.Path(where))
        for command in "".join(blocks(text, "sh example")).splitlines():
            command = command.replace("PREFIX/include", f"{root}/sdk/include")
            env = dict(os.environ, PATH=f"{build}/bin:{os.environ['PATH']}")
            r = subprocess.run(["bash", "-c", command], cwd=where, env=env, capture_output=True, text=True, timeout=120)
            out, code = out + r.stdout + r.stderr, r.returncode
    return out, code


def codes():
    n, rows = 0, []
    for page in sorted((root / "sdk/docs/errors").glob("TN*.md")):
        text, code = page.read_text(), page.stem
        if blocks(text, "sh example"):
            n += 1
            out, exit_code = run_example(text)
            if exit_code != {"1": 3, "2": 2}.get(code[2], 1):
                bad.append(f"{page.name}: the example ends with exit code {exit_code}")
            quoted = [line.strip() for b in blocks(text, "") for line in b.splitlines()]
            for wanted in [f"[{code}]", *quoted]:
                if wanted not in out:
                    bad.append(f"{page.name}: the example does not print '{wanted}' but\n{out.strip()[:1500]}")
                    break
        elif code.startswith("TN4"):
            planted = re.search(r"Planted in `(tests/[\w/.]+)`", text)
            if not planted or code[2:] not in (root / planted[1]).read_text():
                bad.append(f"{page.name}: neither an example (```sh example) nor a test that plants the code")
        if code.startswith("TN4"):
            rows.append(f"| [{code}](errors/{page.name}) | {text.splitlines()[0].split(': ', 1)[1]} |")
    for row in rows:
        if row not in (root / "sdk/docs/storage-plan.md").read_text().splitlines():
            bad.append(f"storage-plan.md has no row '{row}'")
    if n < 40:
        bad.append(f"only {n} examples found: the check looks in the wrong place")


def fields():
    page = (root / "sdk/docs/storage-plan.md").read_text()
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```", "", page, flags=re.M | re.S)))))
    wanted = set()

    def walk(schema):
        wanted.update(schema.get("properties", {}))
        for x in schema.values():
            for y in x if isinstance(x, list) else [x]:
                if isinstance(y, dict):
                    walk(y)

    for name in ("request", "plan"):
        walk(json.loads((root / f"sdk/docs/schema/{name}.schema.json").read_text()))
    header = re.sub(r"/\*.*?\*/", "", (root / "sdk/include/tenon/c/planner.h").read_text(), flags=re.S)
    for body in re.findall(r"typedef struct[^{]*\{(.*?)\}", header, re.S):
        for member in body.split(";"):
            function = re.search(r"\(\*(\w+)\)", member)
            names = [function[1]] if function else [re.search(r"(\w+)\s*$", part)[1] for part in member.split(",") if part.strip()]
            wanted.update(names)
    wanted.update(re.findall(r"\bTN_[A-Z]+\b", re.search(r"^enum \{(.*?)\}", header, re.M | re.S)[1]))
    for name in sorted(wanted - words):
        bad.append(f"storage-plan.md does not name '{name}'")
    if len(wanted) < 60:
        bad.append(f"only {len(wanted)} fields found: the check looks in the wrong place")


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


{"tour": tour, "yaml": yaml, "codes": codes, "fields": fields, "links": links, "rooms": rooms}[check]()
print("\n".join(bad) or f"docs {check}: ok")
sys.exit(bool(bad))
