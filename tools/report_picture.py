"""Make ``docs/images/report.png``, the picture of two parts of a report page.

    python tools/report_picture.py runs/paper/report.html

The page must be that of ``make run``. Needs Chromium and the extra ``dev``.
"""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "report.png"
PART = (1080, 1611)
"""Width and height of each part, in pixels of the page."""
SHOWN = (732, 1092)
"""Width and height of each part in the picture."""


def part(browser: Browser, page: str, start: str) -> Image.Image:
    """The part of a page that starts at an element."""
    view = browser.new_page(viewport={"width": PART[0], "height": PART[1]}, device_scale_factor=2)
    view.goto(page)
    view.add_style_tag(content="html { scroll-behavior: auto; scroll-padding: 0; } body { padding-bottom: 100vh; }")
    if start != "header":
        view.add_style_tag(content="nav, footer { visibility: hidden; } section { border: 0; }")
    view.evaluate(f"document.querySelector('{start}').scrollIntoView()")
    view.wait_for_timeout(500)
    return Image.open(io.BytesIO(view.screenshot())).convert("RGB").resize(SHOWN, Image.Resampling.LANCZOS)


def picture(page: Path) -> Image.Image:
    """The start of a page and its explorer, side by side, in few colours."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        parts = [part(browser, page.resolve().as_uri(), start) for start in ("header", "#explorer")]
        browser.close()
    whole = Image.new("RGB", (2 * SHOWN[0] + 1, SHOWN[1]), "#c9c5bb")  # one pixel of it remains, between the parts
    for number, one in enumerate(parts):
        whole.paste(one, (number * (SHOWN[0] + 1), 0))
    return whole.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    picture(Path(sys.argv[1])).save(PICTURE, optimize=True)
