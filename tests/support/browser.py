"""A headless Chromium that is offline and keeps a list of all that a page complains about or asks the network for."""

import os
import shutil
from contextlib import contextmanager

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}


def require():
    """Skip where there is no browser to test with; CI must have one."""
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("no chromium here: install Debian's package chromium")
    return CHROMIUM


@contextmanager
def opened(path, *, viewport=DESK, scheme="light", scripts=True):
    """A page with a list of its complaints: console messages, errors, and requests beyond its own file."""
    from playwright.sync_api import sync_playwright

    complaints = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=require())
        settings = {"viewport": viewport, "color_scheme": scheme, "java_script_enabled": scripts}
        page = browser.new_context(offline=True, **settings).new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("request", lambda request: note_request(request.url, complaints))
        page.goto(path.as_uri())
        yield page, complaints
        browser.close()


def note_request(url, complaints):
    if not url.startswith(("file:", "data:", "blob:")):
        complaints.append(f"request: {url}")


def wait_until(page, holds, *, seconds=30):
    """Wait for the page to come to a state.

    The page's own policy forbids what Playwright's `wait_for_function` does (a text is evaluated inside the page).
    """
    for _ in range(10 * seconds):
        if holds():
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"the page did not come to the state awaited within {seconds} s")
