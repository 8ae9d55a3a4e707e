#!/usr/bin/env python3
"""The page of `tenon plan show --html` in a real browser.   page.py TENON EXAMPLES [--tokens N]

Hover shows the right name, a click all about a token, search finds, two plans stand beside each other, pools are tabs,
light and dark, no error in the console. Then a plan of N tokens (60 000): the file's size is checked; the time to the first
picture and per frame is printed."""
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

tenon, examples = sys.argv[1], pathlib.Path(sys.argv[2])
n_tokens = int(sys.argv[sys.argv.index("--tokens") + 1]) if "--tokens" in sys.argv else 60000
failed = 0


def expect(ok, text):
    global failed
    failed += not ok
    print(("ok     " if ok else "FAILED ") + text)


def run(*args):
    subprocess.run([tenon, *map(str, args)], check=True, capture_output=True, text=True)


def browser():
    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,900", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options)


def point_at(page, plan, token):
    """The middle of a token's rectangle, from the middle of the canvas."""
    return page.execute_script("""
        const p = pictures[arguments[0]], d = p.plan, i = d.name.indexOf(arguments[1]);
        const x = (p.x(d.first[i]) + p.x(d.end[i])) / 2, y = (p.y(d.offset[i]) + p.y(d.offset[i] + d.size[i])) / 2;
        return [Math.round(x - p.w / 2), Math.round(y - p.h / 2)];""", plan, token)


def errors(page):
    return [e["message"] for e in page.get_log("browser") if e["level"] == "SEVERE" and "favicon" not in e["message"]]


def small(page, work):
    run("compile", examples / "small_cnn.tir", "-o", work / "alone", "--set", "plan.with=naive")
    run("compile", examples / "small_cnn.tir", "-o", work / "shared", "--set", "plan.with=greedy")
    run("plan", "show", work / "alone", "--beside", work / "shared", "--html", work / "small.html", "--title", "a <b> & 'c'")
    page.get(f"file://{work}/small.html")
    plan = json.loads((work / "shared" / "plan.json").read_text())
    expect(page.title == "a <b> & 'c'", f"the title is shown as it is: {page.title}")
    canvases = page.find_elements(By.TAG_NAME, "canvas")
    expect(len(canvases) == 2, "two plans beside each other")
    tabs = [b.text for b in page.find_elements(By.CSS_SELECTOR, "#tabs button")]
    expect(tabs == [p["id"] for p in plan["pools"]], f"a tab per pool: {tabs}")
    tokens = [s["token"] for s in plan["slots"] if s["pool"] == tabs[0]]
    for token in tokens[:4]:
        ActionChains(page).move_to_element_with_offset(canvases[1], *point_at(page, 1, token)).perform()
        tip = page.find_element(By.ID, "tip").text
        expect(tip.startswith(token + " "), f"hover over {token}: {tip}")
    ActionChains(page).click().perform()
    detail = page.find_element(By.ID, "detail").text
    offset = next(s["offset"] for s in plan["slots"] if s["token"] == tokens[min(3, len(tokens) - 1)])
    expect(f"[{offset}," in detail, "a click shows its bytes")
    search = page.find_element(By.ID, "search")
    search.send_keys(tokens[0])
    found = page.find_element(By.ID, "found").text
    expect(int(found.split()[0]) >= 2, f"search finds it in both plans: {found}")
    search.send_keys(Keys.ENTER)
    expect(page.find_element(By.CSS_SELECTOR, "#detail h3").text.endswith(tokens[0]), "Enter goes to it")
    before = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    page.find_element(By.ID, "theme").click()
    after = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    expect(before != after, f"light and dark differ: {before}, {after}")
    page.find_elements(By.CSS_SELECTOR, "#tabs button")[1].click()
    expect(tabs[1] in page.find_element(By.CSS_SELECTOR, ".plan h2").text, "another tab, another pool")
    canvases[0].send_keys("+", Keys.ARROW_RIGHT, "0")
    expect(errors(page) == [], f"no error in the console: {errors(page)}")


def large(page, work):
    rng = random.Random(1)
    rows = ["id,lower,upper,size"]
    for i in range(n_tokens):
        first = rng.randrange(n_tokens)
        rows.append(f"block{i % 97}/stage{i % 13}/convolution_{i}:0,{first},{min(n_tokens, first + rng.randrange(1, 60))},{rng.randrange(64, 65536)}")
    (work / "large.csv").write_text("\n".join(rows) + "\n")
    (work / "large").mkdir()
    run("plan", "solve", work / "large.csv", "--planner", "greedy", "-o", work / "large" / "plan.json", "--save-request", work / "large" / "request.json")
    run("plan", "show", work / "large", "--html", work / "large.html")
    size = (work / "large.html").stat().st_size
    expect(size <= 8 << 20, f"the page of {n_tokens} tokens has {size / 2**20:.2f} MiB, at most 8")
    start = time.time()
    page.get(f"file://{work}/large.html")
    drawn = page.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(frames.length)));")
    print(f"       first picture after {time.time() - start:.2f} s")
    expect(drawn > 0, "it is drawn")
    canvas = page.find_element(By.TAG_NAME, "canvas")
    page.execute_script("frames.length = 0")
    for k in range(20):
        ActionChains(page).drag_and_drop_by_offset(canvas, 7 - k, k - 5).perform()
    for _ in range(20):
        canvas.send_keys("+")
    times = sorted(page.execute_script("return frames"))
    print(f"       {len(times)} frames of pan and zoom: median {times[len(times) // 2]:.1f} ms, slowest {times[-1]:.1f} ms")
    page.find_element(By.ID, "search").send_keys(f"convolution_{n_tokens // 2}:")
    expect(page.find_element(By.ID, "found").text == "1 found", "search finds one of many")
    expect(errors(page) == [], f"no error in the console: {errors(page)}")


with tempfile.TemporaryDirectory() as folder:
    page = browser()
    try:
        small(page, pathlib.Path(folder))
        large(page, pathlib.Path(folder))
    finally:
        page.quit()
print("page: failed" if failed else "page: all as it should be")
sys.exit(1 if failed else 0)
