"""Both pages in Chromium with rows, names and replies that mean harm."""

import itertools
import json
from functools import partial

import pytest

pages = pytest.importorskip("service.test_pages")
asked, browser, link, opened = pages.asked, pages.browser, pages.link, pages.opened
expect = pages.playwright.expect
pytestmark = pytest.mark.skipif(pages.CHROMIUM is None, reason="there is no chromium here")

EVIL = "<img src=x onerror=window.pwned=1><script>window.pwned=1</script>"
MEGA = 10**6  # nearly the largest body of JSON
DEEP = "bottom"
for level in range(18):
    DEEP = {f"level {level}": DEEP}
ITEMS = [
    {EVIL: EVIL, "link": "javascript:window.pwned=1", "__proto__": {"constructor": EVIL},
     "toString": "data:text/html,<script>window.pwned=1</script>", "name/with/slashes": "'\"`"},
    {"invoice\u202e": "cod.exe\u202etxt", "next": "\u2066left open"},
    "Z" + "\u0301\u0335\u0489" * 300 + " " + "a" + "\u0310" * 2_000,
    DEEP,
    "word " * (MEGA // 5),
    "w" * MEGA,
    "a" + "\n" * (MEGA // 4) + "b",
    "https://example.org/" + "a" * MEGA,
    {"n" * MEGA: "v"},
    {f"column {at}": at for at in range(10_000)},
    list(range(100_000)),
    "last",
]  # fmt: skip
CUT = range(4, 11)  # of the items: those that are too long to be shown at once
CLASSES = [EVIL, "\"quoted\" & 'single'", "long " * 100, "w" * 400, "\u202ertl", "\u200b", "later",
           *(f"class {at}" for at in range(93))]  # fmt: skip

# The longest time without a frame, since the last question came.
FRAMES = """
window.longest = 0;
let before = performance.now();
requestAnimationFrame(function frame(now) {
  window.longest = Math.max(window.longest, now - before);
  before = now;
  requestAnimationFrame(frame);
});
"""
SETTLED = """async () => {
  for (let at = 0; at < 3; at += 1) await new Promise(requestAnimationFrame);
  const { longest } = window;
  window.longest = 0;
  return longest;
}"""
# A person who presses a key in the moment in which another question appears.
HASTY = """(key) => new MutationObserver(() => {
  dispatchEvent(new KeyboardEvent("keydown", { key }));
}).observe(document.getElementById("item"), { attributes: true, attributeFilter: ["data-ticket"] })
"""


@pytest.mark.parametrize("width", [390, 1280])
def test_hostile_items_and_classes(server, asked, link, opened, width):
    page = opened(link(asked(ITEMS, CLASSES)), viewport={"width": width, "height": 800})
    page.evaluate(FRAMES)
    for at in range(len(ITEMS)):
        assert pages.ticket_after(page, str(at - 1)) == str(at)
        assert page.evaluate(SETTLED) < 2_000.0
        assert pages.across(page) == width
        dock = page.locator("#dock").bounding_box()
        assert dock["y"] + dock["height"] <= 801
        names = page.eval_on_selector_all("#item *", "all => all.map((e) => e.localName)")
        assert set(names) <= {"dl", "div", "dt", "dd", "p", "button"}
        assert len(page.locator("#item").inner_text()) < 25_000
        assert page.locator("#all").count() == (at in CUT)
        if at == 9:
            page.click("#all")
            assert page.locator("#item dt").count() == 10_000
            assert page.locator("#all").count() == 0
            page.evaluate(SETTLED)
        page.keyboard.press("d")
    buttons = page.locator("#classes button")
    assert buttons.count() == 100
    heights = buttons.evaluate_all("all => all.map((e) => e.clientHeight)")
    assert max(heights) < 304  # of the 38 % of the window that classes have
    assert buttons.nth(5).locator("span").inner_text() == "(blank: U+200B)"
    assert page.evaluate("window.pwned") is None


def test_classes_that_begin_alike_are_shown_whole(server, asked, link, opened):
    long = "w" * 100
    page = opened(link(asked(["a"], [f"{long} a", f"{long} b"])))
    pages.ticket_after(page)
    assert page.locator("#classes span").all_inner_texts() == [f"{long} a", f"{long} b"]


def test_an_item_with_nothing_to_see_says_so(asked, link, opened):
    page = opened(link(asked(["\u200b\u2060", "", "\n" * 3, "a"])))
    seen = []
    for _ in range(3):
        pages.ticket_after(page)
        seen.append(page.locator("#item").inner_text())
        pages.press(page, "1")
    assert seen == ["(blank: U+200B U+2060)", "(empty)", "(blank: U+000A U+000A U+000A)"]


def test_no_digit_of_a_number_changes(server, asked, link, opened):
    """JavaScript has both classes as 9007199254740992."""
    classes = [2**53, 2**53 + 1]
    model = asked([{"id": 1234567890123456789, "most": 1e308}, "b"], classes)
    page = opened(link(model))
    pages.ticket_after(page)
    assert "1234567890123456789" in page.locator("#item").inner_text()
    assert page.locator("#classes span").all_inner_texts() == [str(name) for name in classes]
    pages.press(page, "2")
    assert pages.labels_of(server, model, 1) == {0: 2**53 + 1}


def test_replies_of_others_lose_no_answer(server, asked, link, opened):
    """A proxy that is ill, or wants a login, says 200 or 500 in the place of the server."""
    model = asked(["a", "b", "c"])
    page = opened("/")
    bad = [{"status": 500, "body": "null"}, {"status": 200, "body": "{}"},
           {"status": 200, "body": "[]"}]  # fmt: skip
    replies = {"models": iter(bad[1:2]), "lease": iter(bad[:1]), "answers": iter(bad)}

    def reply(route):
        found = next(replies[route.request.url.rpartition("/")[2]], None)
        route.fulfill(**found) if found else route.continue_()

    for name in replies:
        page.route(f"**/{name}", reply)
    page.goto(server.url + link(model))
    assert pages.press(page, "2") == "1"
    pages.notice(page, "All answers are saved.")
    assert pages.labels_of(server, model, 1) == {0: "spam"}


def test_a_server_that_asks_for_a_long_pause_is_left_alone(server, asked, link, opened):
    page = opened(link(asked(["a", "b"])))
    pages.ticket_after(page)
    seen = []
    said = {"detail": "w" * 10**5}

    def busy(route):
        seen.append(route.request.url)
        route.fulfill(status=503, headers={"Retry-After": "3000000"}, json=said)

    page.route("**/v1/**", busy)  # in milliseconds it is more than a timer takes, which then is 0
    page.keyboard.press("1")
    page.wait_for_timeout(1_500)
    assert 0 < len(seen) <= 4
    assert pages.across(page) == 1280


def test_a_question_that_was_replaced_is_shown(server, asked, link, opened):
    """The store was restored, or the model made again: the same ticket is another question."""
    page = opened(link(asked(["old a", "old b"])))
    pages.ticket_after(page)

    def renewed(route):
        reply = route.fetch()
        route.fulfill(response=reply, body=reply.text().replace("old", "new"))

    page.route("**/lease", renewed)
    page.evaluate("dispatchEvent(new Event('online'))")  # what makes it renew its leases
    expect(page.locator("#item")).to_have_text("new a")
    pages.notice(page, "The question has changed.")
    page.wait_for_timeout(200)  # so long no key is taken
    pages.press(page, "1")
    expect(page.locator("#item")).to_have_text("new b")


def test_a_question_that_appears_by_itself_takes_no_hasty_answer(server, asked, link, opened):
    model = asked(["a", "b", "c"])
    page = opened(link(model))
    assert pages.press(page, "1") == "1"
    held = []
    page.route("**/answers", lambda route: held.append((route, "too late")), times=1)
    page.keyboard.press("u")
    assert pages.ticket_after(page, "1") == "0"
    page.evaluate(HASTY, "2")
    ((undo, why),) = held
    undo.fulfill(status=409, json={"detail": why})
    assert pages.ticket_after(page, "0") == "1"
    pages.notice(page, "Too late to undo")
    assert pages.labels_of(server, model, 1) == {0: "ham"}
    assert page.locator("#item").get_attribute("data-ticket") == "1"


NAMES = ["constructor", "__proto__", "toString", "\u202eBob", "'\"`", "w" * 128,
         "Z" + "\u0301\u0335\u0489" * 40]  # fmt: skip


@pytest.mark.parametrize("width", [390, 1280])
def test_names_on_the_owners_page(server, asked, opened, width):
    model = asked(["a"], overlap=1.0, grace=0.0, suffix="-.constructor_" + "w" * 40)
    for name in NAMES:
        said = {"ticket": 0, "say": "dont_know" if name == "toString" else "later", "by": name}
        server.call("POST", f"/v1/models/{model}/answers", said)
    alarms = [{"at": 1e300, "text": f"input change (a: {'b' * 10**5}\u202e) in row 1"},
              {"at": 0.0, "text": EVIL}]  # fmt: skip
    people = dict.fromkeys([*NAMES, EVIL], 1)
    pairs = [{"people": list(two), "questions": 1, "same": 1} for two in itertools.pairwise(people)]
    # As text: an object of Python's json has "__proto__" like any other name, as the server's.
    agreement = json.dumps(
        {"answers": people, "dont_know": {}, "corrected": people, "pairs": pairs}
    )
    page = opened("/owner", viewport={"width": width, "height": 800})
    page.route("**/agreement", lambda route: route.fulfill(body=agreement))
    page.route("**/alarms", lambda route: route.fulfill(json={"alarms": alarms, "total": 1_002}))
    page.goto(f"{server.url}/owner#key={server.owner}&model={model}")
    expect(page.locator("#updated")).to_contain_text("Updated")
    rows = page.locator("#people tr").evaluate_all(
        "all => all.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    ends = (next(iter(people)), EVIL)  # all others have two neighbors
    shares = {name: f"100.0\xa0% of {1 if name in ends else 2}" for name in people}
    assert sorted(rows) == sorted([name, "1", "0", shares[name], "1"] for name in people)
    assert page.locator("#whose option").count() == 1 + len(people)
    assert page.locator("#pairs bdi").count() == 2 * len(pairs)
    texts = page.locator("#alarms bdi").all_inner_texts()
    assert [len(texts[0]), texts[1]] == [400, EVIL]
    expect(page.locator("#more-alarms")).to_have_text("1,002 alarms; 1,000 earlier not shown")
    assert pages.across(page) == width
    height = page.locator("#people-table thead").bounding_box()["height"]
    assert height < 60  # two lines: a long name does not squeeze the other columns
    assert page.evaluate("window.pwned") is None


def test_the_owners_page_outlives_bad_replies(server, asked, opened):
    model = asked(["a"])
    page = opened(f"/owner#key={server.owner}&model={model}")
    expect(page.locator("#updated")).to_contain_text("Updated")
    for status, body in ((200, "{}"), (200, "<html>"), (500, "null")):
        reply = {"status": status, "body": body}
        page.route("**/points", partial(pages.playwright.Route.fulfill, **reply))
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(page.locator("#notice")).to_contain_text("trying again every 10 seconds")
        page.unroute("**/points")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(page.locator("#notice")).to_be_empty()
