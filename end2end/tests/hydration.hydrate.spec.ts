// A page is painted before scripts are fetched, and hydration keeps the document as the server rendered it.
import { enter, expect, hydrated, open, test } from "../fixtures/test";

test("scripts are not requested before the page can be painted", async ({ page, sessions }) => {
  await enter(page, "operator", sessions);
  const requested: string[] = [];
  page.on("request", (request) => {
    if (/\.(wasm|pack|js)$/.test(new URL(request.url()).pathname)) requested.push(request.url());
  });
  let paint = (): void => {};
  const held = new Promise<void>((resolve) => {
    paint = resolve;
  });
  await page.route("**/headgate.css", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto("/jobs", { waitUntil: "commit" });
  await expect(page.locator('head link[as="fetch"]')).toHaveCount(3);
  // Earlier requests are reported before this one.
  await page.evaluate(() => fetch("/favicon.svg"));
  expect(requested, "nothing is painted without the style sheet").toEqual([]);
  paint();
  await hydrated(page);
  for (const file of ["headgate_bg.wasm", "common.pack", "jobs.pack", "load.js"]) {
    expect(requested.filter((url) => url.endsWith(`/${file}`)), file).toHaveLength(1);
  }
});

test("a link that is clicked during hydration leads to a page that works", async ({ console: page }) => {
  // The router listens for clicks before the page's own part has been loaded.
  await page.addInitScript(() => {
    const listen = window.addEventListener.bind(window);
    window.addEventListener = (...of: Parameters<typeof listen>) => {
      if (of[0] === "click") document.documentElement.classList.add("e2e-router-listens");
      listen(...of);
    };
  });
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/jobs.pack", async (route) => {
    await held;
    // The page that requested it may be closed.
    await route.continue().catch(() => {});
  });
  await page.goto("/jobs");
  await page.locator("html.e2e-router-listens").waitFor();
  const left = page.waitForEvent("framenavigated");
  await page.getByRole("link", { name: "Pending" }).click({ noWaitAfter: true });
  await left;
  release();
  await hydrated(page);
  await expect(page).toHaveURL("/jobs?status=pending");
  await expect(page.getByRole("link", { name: "Pending, remove" })).toBeVisible();
});

for (const path of ["/", "/jobs"]) {
  test(`hydration of ${path} writes hardly any attribute again`, async ({ page, sessions }) => {
    await enter(page, "operator", sessions);
    await page.addInitScript(() => {
      const set = Element.prototype.setAttribute;
      const rewritten: string[] = [];
      Object.assign(window, { rewritten });
      Element.prototype.setAttribute = function (name, value) {
        if (this.getAttribute(name) === String(value)) rewritten.push(`${this.tagName} ${name}`);
        set.call(this, name, value);
      };
    });
    await page.goto(path);
    await hydrated(page);
    const [rewritten, elements] = await page.evaluate(() => [
      (window as unknown as { rewritten: string[] }).rewritten,
      document.querySelectorAll("body *").length,
    ]);
    // Attributes that Leptos does not know at compile time are written again: an icon once had eight of them.
    expect(rewritten.length, `of ${elements}: ${[...new Set(rewritten)].join(", ")}`).toBeLessThan(elements / 5);
  });
}

test("the document has a title at every moment of its hydration", async ({ page, sessions }) => {
  await enter(page, "operator", sessions);
  await page.addInitScript(() => {
    const titles: string[] = [];
    Object.assign(window, { titles });
    // In a task of its own: Leptos empties the title for the rest of its task, which nobody sees.
    const seen = (): NodeJS.Timeout => setTimeout(() => titles.push(document.title));
    new MutationObserver(seen).observe(document, { subtree: true, childList: true, characterData: true });
  });
  await open(page, "/jobs/0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7");
  const titles = await page.evaluate(() => (window as unknown as { titles: string[] }).titles);
  const first = titles.findIndex((title) => title !== "");
  expect(titles.slice(first).filter((title) => title === "")).toEqual([]);
});
