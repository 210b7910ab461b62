# SPDX-License-Identifier: BSD-3-Clause
"""What is measured of a page in a browser: what stands outside of its card, and what cannot be read."""

from pathlib import Path

from playwright.sync_api import Browser, Page

#: Each text, table and figure that reaches beyond its card or the window, is cut, or crushed. What a scrolling box of its own holds is reached by it.
OUTSIDE = """() => {
  const wrong = [], wide = innerWidth, told = (e) => (e.id ? '#' + e.id : e.tagName.toLowerCase() + '.' + (e.getAttribute('class') || '')) + ' ' + (e.textContent || '').trim().slice(0, 40);
  if (document.documentElement.scrollWidth > wide) wrong.push('the page is ' + document.documentElement.scrollWidth + ' wide');
  for (const card of document.querySelectorAll('section')) {
    const edge = card.getBoundingClientRect();
    if (edge.width === 0) continue;
    if (card.scrollWidth > card.clientWidth + 1) wrong.push('card scrolls: ' + card.scrollWidth + ' in ' + card.clientWidth + ' ' + told(card));
    for (const e of card.querySelectorAll('*')) {
      if (e.closest('defs') || ['title', 'style', 'script'].includes(e.tagName.toLowerCase())) continue;
      if (!e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      const box = e.getBoundingClientRect();
      if (box.width < 0.5 || box.height < 0.5) continue;
      if (box.left < edge.left - 1 || box.right > edge.right + 1 || box.left < -1 || box.right > wide + 1) {
        // what can be reached by scrolling its own box is not outside
        let holder = e.parentElement, held = false;
        while (holder && holder !== card) {
          const way = getComputedStyle(holder).overflowX, own = holder.getBoundingClientRect();
          if ((way === 'auto' || way === 'scroll') && own.right <= edge.right + 1) { held = holder.classList.contains('wide'); break; }
          holder = holder.parentElement;
        }
        if (!held) wrong.push('outside by ' + Math.round(Math.max(box.right - edge.right, edge.left - box.left, box.right - wide)) + ': ' + told(e));
      }
    }
  }
  for (const cell of document.querySelectorAll('td, th')) {
    if (!cell.checkVisibility()) continue;
    const words = cell.textContent.trim(), box = cell.getBoundingClientRect();
    if (words.length > 12 && box.width > 0 && box.width < 60) wrong.push('crushed to ' + Math.round(box.width) + ': ' + words.slice(0, 40));
    if (cell.scrollWidth > cell.clientWidth + 2) wrong.push('over its cell: ' + words.slice(0, 40));
  }
  for (const text of document.querySelectorAll('.figure svg text, .drawing svg text')) {
    // names that are cut on purpose have a blank at the cut
    if (/\\S…(\\S|$)/.test(text.textContent)) wrong.push('cut: ' + text.textContent);
    const own = text.getBoundingClientRect(), whole = text.ownerSVGElement.getBoundingClientRect();
    if (own.width > 0 && (own.left < whole.left - 2 || own.right > whole.right + 2 || own.top < whole.top - 2 || own.bottom > whole.bottom + 2)) wrong.push('outside its figure: ' + text.textContent);
  }
  for (const axis of document.querySelectorAll('.figure svg .mark-text.role-axis-label')) {
    const shown = [...axis.children].filter((t) => t.textContent && getComputedStyle(t).opacity !== '0' && t.getAttribute('opacity') !== '0').map((t) => [t.textContent, t.getBoundingClientRect()]);
    shown.forEach(([name, a], i) => shown.slice(i + 1).forEach(([other, b]) => {
      if (a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 2 && b.top < a.bottom - 2) wrong.push('ticks meet: ' + name + ' and ' + other);
    }));
  }
  return [...new Set(wrong)];
}"""
#: A figure is drawn once it has its SVG, at the width that the page has.
DRAWN = "[...document.querySelectorAll('.figure')].every((f) => f.querySelector('svg') && +f.dataset.room === f.clientWidth)"


#: Of each browser the page that files are opened in one after the other, and what it should not have done: in one that is
#: new the figures' library is compiled anew, which takes as long as all else.
_PAGES: dict[Browser, tuple[Page, list[str]]] = {}


def watched(browser: Browser, width: int, height: int = 900, scheme: str = "light") -> tuple[Page, list[str]]:
    """The browser's page at a size, and everything that it will do and should not."""
    if browser not in _PAGES or _PAGES[browser][0].is_closed():
        page, wrong = browser.new_page(), []
        page.on("console", lambda m: wrong.append(f"console: {m.text}") if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: wrong.append(f"error: {e}"))
        page.on("dialog", lambda d: (wrong.append(f"dialog: {d.message}"), d.dismiss()))
        page.on("request", lambda r: wrong.append(r.url) if not r.url.startswith(("file:", "data:", "blob:")) else None)
        _PAGES[browser] = page, wrong
    page, wrong = _PAGES[browser]
    # what stood there before is gone, with all that it still had to say
    page.goto("about:blank")
    wrong.clear()
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    return page, wrong


def opened(browser: Browser, path: Path, width: int, scheme: str = "light", height: int = 900) -> Page:
    """The page at a width, with all figures drawn and all that can be opened open."""
    page, _ = watched(browser, width, height, scheme)
    page.goto(path.absolute().as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.wait_for_function(DRAWN)
    return page


def widened(page: Page, width: int, height: int = 900) -> None:
    """The same page at another width, its figures drawn again."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function(DRAWN)
