"""Pages in a real browser: on a desk and on a phone."""

import shutil
from pathlib import Path

import pytest

WIDTHS = {"desk": 1200, "phone": 390}


def start_browser(profile: Path):
    """Start chromium without a window, or skip the test where it is missing."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    service = pytest.importorskip("selenium.webdriver.chrome.service")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("chromium and chromedriver are not both installed (Debian: chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # The path is given, so that selenium does not look for a driver to download.
    return webdriver.Chrome(options=options, service=service.Service(driver))


def open_page(browser, page: Path, width: int):
    """Open a page in a window of a width, with all details open and empty logs."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    for log in ("browser", "performance"):
        browser.get_log(log)  # what came before is not this page's
    browser.get(page.as_uri())
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    return browser


def boxes(view, selector):
    """Give left, right, width and height of all elements that a selector finds."""
    script = """return [...document.querySelectorAll(arguments[0])].map(e => {
        const b = e.getBoundingClientRect(); return [b.left, b.right, b.width, b.height]; })"""
    return view.execute_script(script, selector)
