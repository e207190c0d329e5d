"""Both pages in Chromium, with a server in a process of its own."""

import json
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tarfile
import time
from contextlib import closing

import httpx
import pytest

playwright = pytest.importorskip("playwright.sync_api")
playwright.expect.set_options(timeout=30_000)  # of a busy machine
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
AXE = "axe-core@4.14.0"
PHONE = {"width": 320, "height": 640}
DESKTOP = {"width": 1280, "height": 800}

# When each question came, on the page's own clock, and since when one is shown without a pause.
CLOCK = """
window.waits = [];
window.shownSince = Infinity;
let pressed = 0;
addEventListener("keydown", () => { pressed = performance.now(); }, true);
new MutationObserver((seen) => {
  if (!seen.some(({ type }) => type === "attributes")) return;
  const empty = !document.getElementById("item").dataset.ticket;
  if (empty) window.shownSince = Infinity;
  else if (window.shownSince === Infinity) window.shownSince = performance.now();
  if (pressed && !empty) {
    const from = pressed;
    requestAnimationFrame(() => window.waits.push(performance.now() - from));
  }
}).observe(document, { subtree: true, attributes: true, attributeFilter: ["data-ticket"] });
"""
NEXT = """(before) => {
  const { ticket } = document.getElementById("item").dataset;
  const settled = performance.now() - window.shownSince > 200;
  return settled && ticket && ticket !== before ? ticket : false;
}"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        made = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def opened(browser, server):
    """Opens a page in a tab of its own; in the end, no script has failed or was refused."""
    contexts, complaints = [], []

    def opened(path, *, viewport=DESKTOP, color_scheme="light", **options):
        context = browser.new_context(viewport=viewport, color_scheme=color_scheme, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.add_init_script(CLOCK)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: said.type == "error" and complaints.append(said.text))
        page.goto(server.url + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [said for said in complaints if "Failed to load resource" not in said] == []


@pytest.fixture
def asked(server, request):
    """Makes a model of the test's name, and questions with the items."""

    def asked(items, classes=("ham", "spam"), *, suffix="", **asking):
        name = re.sub(r"\W+", "-", request.node.name).strip("-") + suffix
        server.call("POST", "/v1/models", {
            "name": name, "classes": list(classes), "features": 2, "algorithm": "perceptron",
            "seed": 0, "asking": {"grace": 1.0} | asking,
        })  # fmt: skip  # it queries every label
        question(server, name, items)
        return name

    return asked


def question(server, model, items, first=0):
    """Ask about the items, of which each is a question."""
    for at, item in enumerate(items, first):
        body = {"rows": [[1.0, float(at)]], "items": [item]}
        (said,) = server.call("POST", f"/v1/models/{model}/ask", body)["decisions"]
        assert said["asked"]


@pytest.fixture
def link(server, request):
    """The link of a new annotator to a model."""

    def link(model, person="Ann"):
        body = {"name": f"{person} of {model}", "role": "annotator"}
        key = server.call("POST", "/v1/keys", body)["key"]
        return f"/#key={key}&model={model}"

    return link


def ticket_after(page, before=""):
    return page.wait_for_function(NEXT, arg=before, polling=5).json_value()


def press(page, keys):
    """Press a key at each question, and wait for the next one."""
    now = ticket_after(page)
    for key in keys:
        page.keyboard.press(key)
        now = ticket_after(page, now)
    return now


def labels_of(server, model, count):
    """What the model was told, by ticket, once there are so many labels."""
    until = time.monotonic() + 60
    while True:
        reply = httpx.get(
            f"{server.url}/v1/models/{model}/journal", trust_env=False,
            headers={"Authorization": f"Bearer {server.owner}"},
        )  # fmt: skip
        lines = [json.loads(line) for line in reply.text.splitlines()]
        found = {line["ticket"]: line["label"] for line in lines if "label" in line}
        if len(found) >= count or time.monotonic() > until:
            return found
        time.sleep(0.1)


def notice(page, text):
    playwright.expect(page.locator("#notice")).to_contain_text(text, timeout=90_000)


def across(page):
    return page.evaluate("document.documentElement.scrollWidth")


# The annotator's page


def test_a_hundred_questions_by_keyboard_alone(server, asked, link, opened, capsys):
    model = asked([f"mail {at}" for at in range(101)], ["ham", "spam", "news"])
    page = opened(link(model))
    keys = [str(1 + at * at % 3) for at in range(100)]
    press(page, keys)
    noted = "() => window.waits.length >= 100"  # the last is noted with the next frame
    page.wait_for_function(noted)  # an expression would be evaluated, which the page forbids
    waits = page.evaluate("window.waits")
    median = statistics.median(waits)
    said = f"key to next item: median {median:.1f} ms, longest {max(waits):.1f} ms"
    with capsys.disabled():
        sys.stdout.write(f"\n{len(waits)} questions, {said}\n")
    assert len(waits) == 100
    assert median < 100.0
    playwright.expect(page.locator("#progress")).to_have_text("100 done today, 1 waiting")
    names = {"1": "ham", "2": "spam", "3": "news"}
    assert labels_of(server, model, 100) == {at: names[key] for at, key in enumerate(keys)}


def test_the_key_leaves_the_address_and_is_in_no_request(server, asked, link, opened):
    path = link(asked(["a", "b"]))
    page = opened("/")
    seen = []
    page.on("request", lambda request: seen.append(request.url))
    page.goto(server.url + path)
    press(page, "1")
    assert page.url == f"{server.url}/"
    assert len(seen) > 3
    assert not any("lasec_" in url for url in seen)


def test_without_a_key_it_asks_for_one(server, asked, link, opened):
    model = asked(["the only item"])
    page = opened("/")
    page.fill("#key", "no such key")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#key-error")).to_contain_text("does not know this key")
    page.fill("#key", re.search("key=([^&]+)", link(model))[1])
    page.keyboard.press("Enter")
    page.select_option("#model", model)
    playwright.expect(page.locator("#item")).to_have_text("the only item")


def test_of_several_models_one_is_chosen(asked, link, opened):
    first, second = asked(["mail"], suffix="-a"), asked(["photo"], ["cat", "dog"], suffix="-b")
    page = opened(link(first))
    playwright.expect(page.locator("#item")).to_have_text("mail")
    page.select_option("#model", second)
    playwright.expect(page.locator("#item")).to_have_text("photo")
    assert page.locator("#classes button").all_inner_texts() == ["1\ncat", "2\ndog"]


def test_every_class_has_a_key_and_a_held_key_answers_once(server, asked, link, opened):
    classes = [f"class {at}" for at in range(14)]
    model = asked(["a", "b", "c"], classes)
    page = opened(link(model))
    ticket_after(page)
    keys = page.locator("#classes kbd").all_inner_texts()
    assert "".join(keys) == "123456789abcef"  # d, l and u are taken
    page.keyboard.down("f")
    page.keyboard.down("f")  # repeats
    page.keyboard.up("f")
    assert ticket_after(page, "0") == "1"
    assert labels_of(server, model, 1) == {0: "class 13"}
    assert page.locator("#item").get_attribute("data-ticket") == "1"


def test_without_single_keys_only_buttons_answer(asked, link, opened):
    page = opened(link(asked(["a", "b"])))
    ticket_after(page)
    page.click("summary:text-is('Help')")
    page.uncheck("#keys")
    page.keyboard.press("1")
    assert page.locator("#item").get_attribute("data-ticket") == "0"
    page.click("text=spam")
    assert ticket_after(page, "0") == "1"


def test_undo_brings_the_question_back(server, asked, link, opened):
    model = asked(["a", "b", "c"], grace=6.0)
    page = opened(link(model))
    assert press(page, "12") == "2"
    page.keyboard.press("u")
    assert ticket_after(page, "2") == "1"
    page.keyboard.press("Control+z")
    assert ticket_after(page, "1") == "0"
    notice(page, "Undone: ham.")
    assert press(page, "21") == "2"
    assert labels_of(server, model, 2) == {0: "spam", 1: "ham"}
    playwright.expect(page.locator("#undo")).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("Backspace")
    notice(page, "no recent answer")
    assert page.locator("#item").get_attribute("data-ticket") == "2"


def test_dont_know_and_later_are_two_things(server, asked, link, opened):
    model = asked(["a", "b", "c"])
    page = opened(link(model))
    assert press(page, "dl") == "2"
    with closing(sqlite3.connect(server.store)) as store:
        query = "SELECT count(*) FROM answers WHERE model = ?"
        until = time.monotonic() + 60
        while store.execute(query, [model]).fetchone() != (2,):  # answers are sent behind the page
            assert time.monotonic() < until
            time.sleep(0.05)
    found = server.call("GET", f"/v1/models/{model}/agreement")
    assert found["dont_know"] == {f"Ann of {model}": 1}
    page.reload()
    playwright.expect(page.locator("#progress")).to_have_text("1 done today, 1 waiting")
    assert ticket_after(page) == "2"


def test_a_reload_in_the_middle_loses_nothing(server, asked, link, opened):
    model = asked([f"mail {at}" for at in range(12)])
    page = opened(link(model))
    press(page, "1")
    page.route("**/answers", lambda route: route.abort())
    assert press(page, "212") == "4"
    notice(page, "3 answers are kept in this tab")
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()
    page.unroute("**/answers")
    assert ticket_after(page) == "4"
    assert press(page, "1") == "5"
    expected = {0: "ham", 1: "spam", 2: "ham", 3: "spam", 4: "ham"}
    assert labels_of(server, model, 5) == expected


def test_each_reply_is_lost_once(server, asked, link, opened):
    model = asked([f"mail {at}" for at in range(8)], grace=60.0)
    page = opened(link(model))
    ticket_after(page)
    seen = set()

    def lose(route):
        body = route.request.post_data
        if body in seen:
            return route.continue_()
        seen.add(body)
        route.fetch()
        return route.abort()

    page.route("**/answers", lose)
    assert press(page, "1") == "1"
    notice(page, "Connected again. All answers are saved.")
    page.keyboard.press("u")
    assert ticket_after(page, "1") == "0"
    notice(page, "Connected again. All answers are saved.")
    assert press(page, "2") == "1"
    notice(page, "Connected again. All answers are saved.")
    with closing(sqlite3.connect(server.store)) as store:
        query = "SELECT ticket, label, status FROM answers WHERE model = ?"
        assert store.execute(query, [model]).fetchall() == [(0, '"spam"', "held")]


def test_an_old_lease_brings_no_answered_question_back(asked, link, opened):
    page = opened(link(asked([f"mail {at}" for at in range(9)])))
    ticket_after(page)
    held = []
    page.route("**/lease", lambda route: held.append((route, route.fetch())), times=1)
    assert press(page, "111") == "3"
    page.wait_for_timeout(200)
    ((route, reply),) = held
    offered = [question["ticket"] for question in reply.json()["questions"]]
    assert 2 in offered  # it was answered after that lease
    route.fulfill(response=reply)
    assert press(page, "11111") == "8"
    page.keyboard.press("1")
    playwright.expect(page.locator("#item")).to_contain_text("No questions")


def test_answers_survive_a_killed_server(server, asked, link, opened):
    model = asked([f"mail {at}" for at in range(12)])
    page = opened(link(model))
    press(page, "1")
    server.stop(signal.SIGKILL)
    try:
        assert press(page, "221") == "4"
        notice(page, "No connection to the server")
        page.keyboard.press("u")
        assert ticket_after(page, "4") == "3"
        page.keyboard.press("2")
        assert ticket_after(page, "3") == "4"
    finally:
        server.start()
    notice(page, "Connected again. All answers are saved.")
    assert labels_of(server, model, 4) == {0: "ham", 1: "spam", 2: "spam", 3: "spam"}
    assert press(page, "11") == "6"


def test_an_empty_queue_says_so_and_looks_again(server, asked, link, opened):
    model = asked(["a"])
    page = opened(link(model))
    ticket_after(page)
    page.keyboard.press("1")
    item = page.locator("#item")
    playwright.expect(item).to_contain_text("No questions right now.")
    playwright.expect(item).to_contain_text("every 10 seconds")
    body = {"rows": [[0.0, 1.0]], "items": ["one more"]}
    server.call("POST", f"/v1/models/{model}/ask", body)
    playwright.expect(item).to_have_text("one more", timeout=12_000)


def test_focus_and_live_region(asked, link, opened):
    page = opened(link(asked(["a", "b"], grace=0.6)))
    ticket_after(page)
    item = page.locator("#item")
    playwright.expect(item).to_be_focused()
    assert item.get_attribute("aria-live") == "polite"
    button = page.locator("#classes button").first
    button.focus()
    assert button.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    ticket_after(page, "0")
    playwright.expect(button).to_be_focused()
    page.keyboard.press("Enter")
    playwright.expect(item).to_contain_text("No questions")
    playwright.expect(item).to_be_focused()


HOSTILE = [
    "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>",
    {"<b>field</b>": "<svg onload='window.pwned = 1'>", "__proto__x": {"html": "<i>deep</i>"}},
    "javascript:window.pwned=1",
    {"link": "https://example.org/\"onmouseover='window.pwned=1'"},
]


def test_items_stay_text(asked, link, opened):
    page = opened(link(asked([*HOSTILE, "last"], ["<u>a</u>", "b"])))
    texts = []
    for _ in HOSTILE:
        ticket_after(page)
        texts.append(page.locator("#item").inner_text())
        names = page.eval_on_selector_all("#item *", "all => all.map((e) => e.localName)")
        assert set(names) <= {"dl", "div", "dt", "dd", "a"}
        links = page.eval_on_selector_all("#item a", "all => all.map((a) => a.protocol)")
        assert set(links) <= {"https:"}
        press(page, "1")
    assert texts[0] == HOSTILE[0]
    assert "<b>field</b>" in texts[1]
    assert "html\n<i>deep</i>" in texts[1]
    assert texts[2] == HOSTILE[2]
    assert page.locator("#classes u").count() == 0
    assert page.evaluate("window.pwned") is None


# The owner's page


def judged(server, name):
    """A model of two sources, whose judge has answered the first 30 rows."""
    server.call("POST", "/v1/models", {
        "name": name, "classes": ["ham", "spam"], "features": 2, "seed": 0, "money": 8.0,
        "sources": [{"name": "<b>gpt", "price": 1.0}, {"name": "people", "price": 20.0}],
    })  # fmt: skip
    for at in range(32):
        row = {"rows": [[1.0, float(at % 2)]]}
        (said,) = server.call("POST", f"/v1/models/{name}/ask", row)["decisions"]
        if "source" not in said or at >= 30:
            continue
        for by, label in (("<b>gpt", at % 2 if at % 9 else 0), ("ann", at % 2)):
            answer = {"ticket": said["ticket"], "label": ["ham", "spam"][label], "by": by}
            path = f"/v1/models/{name}/tell"
            (done,) = server.call("POST", path, {"answers": [answer]})["outcomes"]
            if "source" not in done:
                break
    return server.call("GET", f"/v1/models/{name}/sources")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_owner_sees_what_the_judge_costs_and_knows(server, asked, opened, width):
    found = judged(server, f"judged-{width}")
    viewport = {"width": width, "height": 900}
    page = opened(f"/owner#key={server.owner}&model=judged-{width}", viewport=viewport)
    judge, people = found["sources"]
    lines = [page.locator("#sources tr").nth(at).inner_text().split("\t") for at in range(2)]
    assert lines[0] == ["<b>gpt", "1", f"{judge['asked']}", f"{judge['spent']:.0f}"]
    assert lines[1] == ["people", "20", f"{people['asked']}", f"{people['spent']:.0f}"]
    playwright.expect(page.locator("#verdict")).to_contain_text(found["verdict"][1:])
    right = f"right in {100 * found['judge']['value']:.1f}\xa0% of the rows"
    playwright.expect(page.locator("#judged")).to_contain_text(right)
    share = people["asked"] / (judge["asked"] - found["judging"])
    playwright.expect(page.locator("#escalated")).to_contain_text(f"{100 * share:.1f}\xa0% of its")
    recall = f"{100 * found['classes'][0]['recall']['value']:.1f}\xa0%"
    playwright.expect(page.locator("#judged-classes tr").first).to_contain_text(recall)
    playwright.expect(page.locator("#left")).to_contain_text("The budget allows 256 by now")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    plain = asked(["one"], suffix=f"-{width}")
    page = opened(f"/owner#key={server.owner}&model={plain}", viewport=viewport)
    playwright.expect(page.locator("#spent")).to_have_text("1")
    assert page.locator("#sources-card").is_hidden()


def test_names_stay_text_on_the_owners_page(server, asked, opened):
    hostile = "<img src=x onerror=window.pwned=1><script>window.pwned=1</script>"
    model = asked(["a", "b"], [hostile, "b"], overlap=1.0, grace=0.0)
    server.call("POST", "/v1/keys", {"name": hostile.replace("/", "|"), "role": "viewer"})
    for person in (hostile, '"><svg onload=window.pwned=1>'):
        answer = {"ticket": 0, "label": hostile, "by": person}
        server.call("POST", f"/v1/models/{model}/answers", answer)
        server.call(
            "POST", f"/v1/models/{model}/answers", {"ticket": 1, "by": person, "say": "later"}
        )
    page = opened(f"/owner#key={server.owner}&model={model}")
    playwright.expect(page.locator("#pairs")).to_contain_text("<svg onload=window.pwned=1>")
    for summary in page.locator("summary").all():
        summary.click()
    playwright.expect(page.locator("body")).to_contain_text("onerror=window.pwned=1><script>")
    assert page.locator("main img, main script, main svg[onload]").count() == 0
    assert page.evaluate("window.pwned") is None


def test_a_model_that_cannot_be_read_is_an_alarm(server, asked, opened):
    model = asked([{"text": "one"}])
    server.stop()
    with sqlite3.connect(server.store) as database:
        database.execute("UPDATE snapshots SET data = ? WHERE model = ?", (b"broken", model))
    database.close()
    server.start()
    page = opened(f"/owner#key={server.owner}&model={model}")
    page.get_by_text("Set aside: not a lasec model").wait_for()
    assert "cannot read this model" in page.locator("#status").inner_text()
    assert page.locator("#pause").is_hidden()
    server.call("DELETE", f"/v1/models/{model}")


def test_the_owner_sees_figures(server, asked, link, opened):
    model = asked(["mail 0"], overlap=1.0)
    tell = f"/v1/models/{model}/tell"
    server.call("POST", tell, {"answers": [{"ticket": 0, "label": "ham"}]})
    question(server, model, [f"mail {at}" for at in range(1, 40)], first=1)
    answers = [{"ticket": at, "label": "ham"} for at in range(1, 30)]
    server.call("POST", tell, {"answers": answers})
    for person in ("Ann", "Bob"):
        press(opened(link(model, person)), "11" if person == "Ann" else "12")
    time.sleep(1.5)  # the grace time
    page = opened(f"/owner#key={server.owner}&model={model}")
    playwright.expect(page.locator("#accuracy")).to_contain_text("%")
    silent = "1 row before the first label has no prediction."
    playwright.expect(page.locator("#covered")).to_contain_text(silent)
    figures = server.call("GET", f"/v1/models/{model}/accuracy")["all"]
    assert page.locator("#accuracy").inner_text() == f"{100 * figures['value']:.1f}\xa0%"
    assert f"95 % CI {100 * figures['low']:.1f}" in page.locator("#interval").inner_text()
    assert "labels" in page.locator("#interval").inner_text()
    playwright.expect(page.locator("#spent")).to_have_text("40")
    playwright.expect(page.locator("#left")).to_contain_text("(100.0\xa0% of rows)")
    playwright.expect(page.locator("#left")).to_contain_text("has no label budget")
    playwright.expect(page.locator("#open")).to_have_text("8")
    playwright.expect(page.locator("#oldest")).to_contain_text("minute")
    playwright.expect(page.locator("#pairs")).to_contain_text("1 of 2 (50.0\xa0%)")
    playwright.expect(page.locator("#updated")).to_contain_text("Updated")


def test_lost_answers_widen_the_bounds(server, asked, opened):
    model = asked(["mail 0"])
    tell = f"/v1/models/{model}/tell"
    server.call("POST", tell, {"answers": [{"ticket": 0, "label": "ham"}]})
    question(server, model, [f"mail {at}" for at in range(1, 20)], first=1)
    answers = [{"ticket": at, "label": "ham"} for at in range(1, 16)]
    server.call("POST", tell, {"answers": answers})
    server.call(
        "POST",
        f"/v1/models/{model}/cancel",
        {"questions": [{"ticket": t} for t in (16, 17, 18, 19)]},
    )
    page = opened(f"/owner#key={server.owner}&model={model}")
    playwright.expect(page.locator("#worst")).to_contain_text(
        "4 labels that were queried have not come"
    )
    figures = server.call("GET", f"/v1/models/{model}/accuracy")["all"]
    low, high = 100 * figures["worst_low"], 100 * figures["worst_high"]
    playwright.expect(page.locator("#worst")).to_contain_text(f"{low:.1f}-{high:.1f}")


def test_without_a_prediction_there_is_no_estimate(server, asked, opened):
    model = asked([f"mail {at}" for at in range(20)])
    answers = [{"ticket": at, "label": "ham"} for at in range(20)]
    server.call("POST", f"/v1/models/{model}/tell", {"answers": answers})
    page = opened(f"/owner#key={server.owner}&model={model}")
    silent = "20 rows before the first label have no prediction."
    playwright.expect(page.locator("#covered")).to_have_text(silent)
    playwright.expect(page.locator("#accuracy")).to_have_text("no estimate yet")
    playwright.expect(page.locator("#interval")).not_to_contain_text("%")


def point(minute, value, half):
    low, high = value - half, min(1.0, value + half)
    return {"at": 1.8e9 + 60 * minute, "rows": minute, "asked": minute, "value": value,
            "low": low, "high": high}  # fmt: skip


def test_the_axes_of_the_chart_are_honest(server, asked, opened):
    model = asked(["a"])
    points = [point(at, 0.9, 0.03) for at in range(20)]
    points += [point(at, 0.88, 0.12) for at in range(60, 90)]  # the server was down before
    page = opened("/owner")
    page.route("**/points", lambda route: route.fulfill(json={"points": points}))
    page.goto(f"{server.url}/owner#key={server.owner}&model={model}")
    playwright.expect(page.locator("#caption")).to_contain_text("The vertical axis starts at 70 %.")
    assert page.locator("svg polyline").count() == 2
    texts = page.locator("svg text").all_text_contents()
    levels = [text for text in texts if text.endswith("%")]
    assert levels[0] == "100 %"
    assert levels[-1] == "70 %"
    heights = page.eval_on_selector_all(
        "svg line", "all => all.map((line) => line.getBoundingClientRect().y)"
    )
    share = (heights[-1] - heights[0]) / (len(heights) - 1)
    first = page.locator("svg polyline").first.get_attribute("points").split()
    box = page.locator("svg").bounding_box()
    assert box["y"] + float(first[0].split(",")[1]) == pytest.approx(heights[0] + share, abs=1.0)
    xs = [float(part.split(",")[0]) for part in first]
    again = page.locator("svg polyline").last.get_attribute("points").split()
    step, pause = (xs[-1] - xs[0]) / 19, float(again[0].split(",")[0]) - xs[-1]
    assert pause == pytest.approx(41 * step, rel=0.01)


@pytest.mark.parametrize(
    ("rate", "per_day", "early", "spent", "said"),
    [
        (0.1, None, 45.2, "90", "Budget: 10 % of rows, 10 left; at most 176 so far"),
        (
            0.07, None, 20.4, "90",
            "Budget: 7 % of rows, 20 ahead of it (warm-up of 20, repaid by row 10,000); "
            "at most 176 so far",
        ),
        (
            0.07, None, 0.0, "90",
            "Budget: 7 % of rows, 20 ahead of it (carried over); at most 176 so far",
        ),
        (None, 50.0, 7.0, "12 of 50", "labels queried since 00:00 UTC, 38 left"),
        (
            None, 10.0, 7.0, "12 of 10",
            "labels queried since 00:00 UTC, 2 ahead of it (warm-up of 7, repaid over ten days)",
        ),
    ],
    ids=["left", "warm-up", "carried over", "today", "today, warm-up"],
)  # fmt: skip
def test_the_budget_that_is_left(server, asked, opened, rate, per_day, early, spent, said):
    found = {"rows": 1_000, "asked": 90, "answered": 80, "lost": 1, "open": 9, "rate": rate,
             "labels_per_day": per_day, "asked_today": 12, "oldest": 7_300.0, "warm_up": early,
             "repaid_by": None if per_day else 10_000,
             "cap": None if per_day else 176.4}  # fmt: skip
    model = asked([], suffix="-model")
    page = opened("/owner")
    page.route("**/budget", lambda route: route.fulfill(json=found))
    page.goto(f"{server.url}/owner#key={server.owner}&model={model}")
    playwright.expect(page.locator("#left")).to_contain_text(said)
    playwright.expect(page.locator("#spent")).to_have_text(spent)
    playwright.expect(page.locator("#oldest")).to_have_text("The oldest has been open for 2 hours.")


def test_pause_and_resume(server, asked, opened):
    model = asked(["a"])
    page = opened(f"/owner#key={server.owner}&model={model}")
    page.click("#pause")
    playwright.expect(page.locator("#status")).to_contain_text("Paused")
    assert server.call("GET", f"/v1/models/{model}")["status"] == "paused"
    playwright.expect(page.locator("#pause")).to_have_text("Resume")
    page.click("#pause")
    playwright.expect(page.locator("#status")).to_have_text("Active")
    assert server.call("GET", f"/v1/models/{model}")["status"] == "active"


def test_a_link_is_made_used_and_revoked(server, asked, opened):
    model = asked(["for a new person"])
    name = "<img src=x onerror='window.pwned=1'>"
    page = opened(f"/owner#key={server.owner}&model={model}")
    page.fill("#name", name)
    page.click("text=Create link")
    playwright.expect(page.locator("#made-for")).to_have_text(name)
    link = page.input_value("#link")
    assert link.startswith(f"{server.url}/#key=lasec_")
    theirs = opened(link.removeprefix(server.url))
    playwright.expect(theirs.locator("#item")).to_have_text("for a new person")
    page.fill("#name", name)
    page.click("text=Create link")
    playwright.expect(page.locator("#key-problem")).to_contain_text("there is a key of the name")
    page.click("text=All keys")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name=f"Revoke {name}").click()
    playwright.expect(page.locator("#key-list")).not_to_contain_text(name)
    theirs.keyboard.press("1")
    playwright.expect(theirs.locator("#key-error")).to_contain_text("does not know this key")
    assert page.evaluate("window.pwned") is None


def test_a_viewer_changes_nothing_and_an_annotator_sees_no_figures(server, asked, link, opened):
    model = asked(["a"])
    body = {"name": "viewer", "role": "viewer"}
    key = server.call("POST", "/v1/keys", body)["key"]
    page = opened(f"/owner#key={key}&model={model}")
    playwright.expect(page.locator("#status")).to_have_text("Active")
    playwright.expect(page.locator("#pause")).to_be_hidden()
    for part in ("#new-key", "#review", "#instruct", "#create"):
        playwright.expect(page.locator(part)).to_be_hidden()
    page = opened("/owner" + link(model)[1:])
    playwright.expect(page.locator("#key-error")).to_contain_text("cannot see the figures")


def test_a_model_is_made_from_the_form(server, opened):
    page = opened(f"/owner#key={server.owner}")
    playwright.expect(page.locator("#create")).to_be_visible()
    if not page.locator("#new-model").is_visible():  # it is open where there is no model
        page.click("#create summary")
    page.fill("#new-name", "from-the-form")
    page.fill("#new-classes", "good")
    page.select_option("#kind", "columns")
    page.fill("#columns input", "price")
    page.click("#add")
    page.locator("#columns input").nth(1).fill("shop")
    page.locator("#columns select").nth(1).select_option("category")
    page.click("#add")  # a column without a name is none
    page.fill("#amount", "50")
    page.fill("#overlap", "25")
    page.click("#make")
    playwright.expect(page.locator("#new-problem")).to_have_text("Give two or more classes.")
    page.fill("#new-classes", "good, bad")
    page.click("#make")
    example = page.locator("#example")
    playwright.expect(example).to_contain_text('client.model("from-the-form")', timeout=300_000)
    playwright.expect(example).to_contain_text('{"price":1.5,"shop":"a"}')
    found = server.call("GET", "/v1/models/from-the-form")
    assert (found["classes"], found["columns"]) == (["good", "bad"], ["price", "shop"])
    assert server.call("GET", "/v1/models/from-the-form/budget")["rate"] == 0.5
    body = {"rows": [{"price": 1.5, "shop": "a"}], "ids": ["row-1"]}
    (said,) = server.call("POST", "/v1/models/from-the-form/ask", body)["decisions"]
    assert "error" not in said
    playwright.expect(page.locator("#status")).to_have_text("Active")
    page.fill("#new-name", "from-the-form")
    page.fill("#new-classes", "good, bad")
    page.click("#make")
    playwright.expect(page.locator("#new-problem")).to_contain_text("there is a model of the name")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_model_with_a_judge_is_made_from_the_form(server, opened, width):
    page = opened(f"/owner#key={server.owner}", viewport={"width": width, "height": 900})
    playwright.expect(page.locator("#create")).to_be_visible()
    if not page.locator("#new-model").is_visible():
        page.click("#create summary")
    name = f"judged-by-form-{width}"
    page.fill("#new-name", name)
    page.fill("#new-classes", "good, bad")
    page.fill("#amount", "-1")  # hidden from now on, so nobody is kept from sending the form
    page.select_option("#labelers", "judge")
    playwright.expect(page.locator("#amount")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    problem = page.locator("#new-problem")
    for field, wrong, right, said in (
        ("#judge-name", "people", "gpt", "two are called"),
        ("#judge-price", "60", "2", "may not cost more"),
        ("#judge-hook", "http://elsewhere.example/", "", '"hook":'),
    ):
        page.fill("#judge-name", "gpt")
        page.fill(field, wrong)
        page.click("#make")
        playwright.expect(problem).to_contain_text(said)
        page.fill(field, right)
    page.fill("#money", "700")
    page.select_option("#money-per", "day")
    page.click("#make")
    example = page.locator("#example")
    playwright.expect(example).to_contain_text('by="gpt"', timeout=300_000)
    playwright.expect(page.locator("#of-judge")).to_be_hidden()
    playwright.expect(page.locator("#sources tr")).to_have_count(2)
    found = server.call("GET", f"/v1/models/{name}/sources")
    assert [(one["name"], one["price"]) for one in found["sources"]] == [("gpt", 2), ("people", 50)]
    assert server.call("GET", f"/v1/models/{name}/budget")["labels_per_day"] == 14.0


def test_instructions_are_above_the_question_until_they_are_read(server, asked, link, opened):
    model = asked(["a", "b", "c"])
    page = opened(f"/owner#key={server.owner}&model={model}")
    text = "<b>Ads</b> are spam.\nNews is not."
    page.fill("#instructions", text)
    page.click("#instruct button")
    playwright.expect(page.locator("#instructed")).to_contain_text("Saved")
    theirs = opened(link(model))
    shown = theirs.locator("#instructions-text")
    playwright.expect(shown).to_have_text(text)
    assert shown.bounding_box()["y"] < theirs.locator("#item").bounding_box()["y"]
    assert shown.locator("b").count() == 0
    theirs.click("#instructions summary")
    playwright.expect(shown).to_be_hidden()
    theirs.reload()
    ticket_after(theirs)
    playwright.expect(theirs.locator("#instructions")).to_be_visible()
    playwright.expect(shown).to_be_hidden()
    page.fill("#instructions", "Ads are news now.")
    page.click("#instruct button")
    playwright.expect(page.locator("#instructed")).to_contain_text("Saved")
    press(theirs, "1")
    playwright.expect(shown).to_have_text("Ads are news now.")
    playwright.expect(shown).to_be_visible()


def test_answers_are_reviewed_corrected_and_downloaded(server, asked, link, opened):
    items = [{"text": f"mail {at}"} for at in range(14)]
    model = asked(items, overlap=1.0, grace=0.0)
    path = f"/v1/models/{model}"
    for ticket in range(12):
        body = {"ticket": ticket, "label": "ham", "by": "Ann"}
        server.call("POST", f"{path}/answers", body)
    server.call("POST", f"{path}/answers", {"ticket": 0, "label": "spam", "by": "=Bob"})
    labels_of(server, model, 12)
    page = opened(f"/owner#key={server.owner}&model={model}")
    rows = page.locator("#answers tr")
    playwright.expect(rows).to_have_count(10)
    playwright.expect(page.locator("#people")).to_contain_text("0.0\xa0% of 1")
    page.click("#older")
    playwright.expect(rows).to_have_count(3)
    page.click("#newest")
    playwright.expect(rows).to_have_count(10)
    page.select_option("#whose", "=Bob")
    playwright.expect(rows).to_have_count(1)
    playwright.expect(rows).to_contain_text("Second answer, not learned")
    page.select_option("#whose", "Ann")
    first = rows.filter(has_text="mail 11")
    first.get_by_role("button", name="Correct").click()
    edit = page.locator("#answers .edit")
    playwright.expect(edit).to_contain_text("has learned \u2068ham\u2069 and cannot unlearn it")
    edit.locator("select").select_option("spam")
    edit.get_by_role("button", name="Save").click()
    playwright.expect(page.locator("#corrected")).to_contain_text("cannot unlearn")
    playwright.expect(first).to_contain_text("spam (corrected, was ham)")
    playwright.expect(first).to_contain_text("Learned ham before the correction")
    with page.expect_download() as kept:
        page.click("#save-csv")
    assert kept.value.suggested_filename == f"{model}-labels.csv"
    table = kept.value.path().read_text().splitlines()
    assert len(table) == 1 + 12  # those of one person
    assert table[-1].startswith("11,,spam,Ann,")
    page.select_option("#whose", "")
    with page.expect_download() as kept:
        page.click("#save-jsonl")
    lines = [json.loads(line) for line in kept.value.path().read_text().splitlines()]
    assert len(lines) == 13
    assert {line["by"] for line in lines} == {"Ann", "=Bob"}
    playwright.expect(page.locator("#people")).to_contain_text("Ann")
    assert server.call("GET", f"{path}/agreement")["corrected"] == {"Ann": 1}


def test_a_correction_in_time_is_learned_and_a_refresh_does_not_end_it(server, asked, opened):
    model = asked([{"text": "mail"}], grace=600.0)
    path = f"/v1/models/{model}"
    server.call("POST", f"{path}/answers", {"ticket": 0, "label": "ham", "by": "Ann"})
    page = opened(f"/owner#key={server.owner}&model={model}")
    page.get_by_role("button", name="Correct").click()
    time.sleep(11)  # the page is refreshed meanwhile
    page.locator("#answers .edit select").select_option("spam")
    page.locator("#answers .edit").get_by_role("button", name="Save").click()
    playwright.expect(page.locator("#corrected")).to_contain_text("it learns 'spam'")
    playwright.expect(page.locator("#answers")).to_contain_text("Not learned yet")


# Both pages

LONG = {"a-name-without-a-place-to-break" * 3: "w" * 200, "text": "many words " * 60}


@pytest.mark.parametrize("width", [320, 640])  # 640 is a window of 1280 at 200 %
def test_nothing_scrolls_sideways(server, asked, link, opened, width):
    classes = ["a class with a long name " * 3, "w" * 60, *"cdefgh"]
    model = asked([LONG, "b"], classes, suffix="-and-a-name-that-is-much-too-long-for-a-phone")
    size = {"width": width, "height": 640}
    page = opened(link(model), viewport=size, is_mobile=width == 320, has_touch=True)
    ticket_after(page)
    assert across(page) == width
    dock = page.locator("#dock").bounding_box()
    assert dock["y"] + dock["height"] <= 641  # the buttons can be reached without scrolling
    heights = page.eval_on_selector_all("#dock button", "all => all.map((e) => e.clientHeight)")
    assert min(heights) >= 42  # and borders
    page.click("text=Help")
    assert across(page) == width
    body = {"ticket": 1, "label": "w" * 60, "by": "v" * 100}
    server.call("POST", f"/v1/models/{model}/answers", body)
    page.goto(f"{server.url}/owner#key={server.owner}&model={model}")
    playwright.expect(page.locator("#open")).to_have_text(re.compile("[12]"))
    for summary in page.locator("summary").all():
        summary.click()
    page.select_option("#kind", "columns")
    playwright.expect(page.locator("#answers tr")).to_have_count(1)
    page.locator("#answers button").click()
    assert across(page) == width


def test_dark_mode(asked, link, opened):
    path = link(asked(["a"]))
    shades = {}
    for scheme in ("light", "dark"):
        page = opened(path, color_scheme=scheme)
        ticket_after(page)
        for part in ("html", "#item", "#classes button"):
            style = page.locator(part).first.evaluate(
                "e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).color]"
            )
            shades[scheme, part] = [sum(map(int, re.findall(r"\d+", text)[:3])) for text in style]
    for (scheme, part), (paper, ink) in shades.items():
        assert (paper > ink) == (scheme == "light"), part
        assert abs(paper - ink) > 450, part


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The source of axe-core."""
    if shutil.which("npm") is None:
        pytest.skip("there is no npm here to get axe-core with")
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "pack", AXE, "--silent"]
    got = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    if got.returncode:
        pytest.skip("axe-core could not be downloaded")
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as found:
        return found.extractfile("package/axe.min.js").read().decode()


def complaints(page, axe):
    page.evaluate(axe)
    found = page.evaluate("axe.run()")
    assert len(found["passes"]) > 5
    return [
        (rule["id"], rule["impact"], [node["html"] for node in rule["nodes"]])
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize(
    ("scheme", "size"), [("dark", PHONE), ("light", DESKTOP)], ids=["dark", "light"]
)
def test_axe_finds_nothing_serious(server, asked, link, opened, axe, scheme, size):
    model = asked([{"subject": "lunch", "link": "https://example.org"}, "b"])
    page = opened("/", viewport=size, color_scheme=scheme)
    assert complaints(page, axe) == []  # the form for the key
    page.goto(server.url + link(model))
    press(page, "1")
    page.click("text=Help")
    assert complaints(page, axe) == []
    page.keyboard.press("1")
    playwright.expect(page.locator("#item")).to_contain_text("No questions")
    assert complaints(page, axe) == []
    points = [point(at, 0.9, 0.03) for at in range(20)]
    page.route("**/points", lambda route: route.fulfill(json={"points": points}))
    page.goto(f"{server.url}/owner#key={server.owner}&model={model}")
    playwright.expect(page.locator("svg")).to_be_visible()
    for summary in page.locator("summary").all():
        summary.click()
    assert complaints(page, axe) == []


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/owner",
        "/annotate.js",
        "/owner.js",
        "/owner-answers.js",
        "/owner-create.js",
        "/owner-sources.js",
        "/owner-text.js",
        "/page.js",
    ],
)
def test_pages_allow_no_foreign_or_inline_code(server, path):
    reply = httpx.get(server.url + path, trust_env=False)
    policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "unsafe" not in policy
    assert "http" not in re.sub(r"http://www.w3.org/2000/svg|https\?", "", reply.text)
    assert "innerHTML" not in reply.text
