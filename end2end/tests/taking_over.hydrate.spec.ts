// A page is painted before anything is fetched that makes it work, and that leaves alone what the server wrote.
import { enter, expect, hydrated, test } from "../fixtures/test";

test("what makes a page work is not asked for before the page can be painted", async ({ page, sessions }) => {
  await enter(page, "operator", sessions);
  const asked: string[] = [];
  page.on("request", (request) => {
    if (/\.(wasm|pack|js)$/.test(new URL(request.url()).pathname)) asked.push(request.url());
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
  // What had been asked for by then is told before this.
  await page.evaluate(() => fetch("/favicon.svg"));
  expect(asked, "nothing is painted without its style").toEqual([]);
  paint();
  await hydrated(page);
  for (const file of ["headgate_bg.wasm", "common.pack", "jobs.pack", "load.js"]) {
    expect(asked.filter((url) => url.endsWith(`/${file}`)), file).toHaveLength(1);
  }
});

test("a link that is clicked while the page is taken over leads to a page that works", async ({ console: page }) => {
  // The router listens for clicks before the page's own part has come.
  await page.addInitScript(() => {
    const listen = window.addEventListener.bind(window);
    window.addEventListener = (...of: Parameters<typeof listen>) => {
      if (of[0] === "click") document.documentElement.classList.add("e2e-router-listens");
      listen(...of);
    };
  });
  let come = (): void => {};
  const held = new Promise<void>((resolve) => {
    come = resolve;
  });
  await page.route("**/jobs.pack", async (route) => {
    await held;
    // The page that asked may be gone.
    await route.continue().catch(() => {});
  });
  await page.goto("/jobs");
  await page.locator("html.e2e-router-listens").waitFor();
  const left = page.waitForEvent("framenavigated");
  await page.getByRole("link", { name: "Pending" }).click({ noWaitAfter: true });
  await left;
  come();
  await hydrated(page);
  await expect(page).toHaveURL("/jobs?status=pending");
  await expect(page.getByRole("link", { name: "Pending, remove" })).toBeVisible();
});

for (const path of ["/", "/jobs"]) {
  test(`taking over ${path} writes next to nothing of it anew`, async ({ page, sessions }) => {
    await enter(page, "operator", sessions);
    await page.addInitScript(() => {
      const set = Element.prototype.setAttribute;
      const anew: string[] = [];
      Object.assign(window, { anew });
      Element.prototype.setAttribute = function (name, value) {
        if (this.getAttribute(name) === String(value)) anew.push(`${this.tagName} ${name}`);
        set.call(this, name, value);
      };
    });
    await page.goto(path);
    await hydrated(page);
    const [anew, elements] = await page.evaluate(() => [
      (window as unknown as { anew: string[] }).anew,
      document.querySelectorAll("body *").length,
    ]);
    // Names that HTML does not know are written again: of an icon they were eight.
    expect(anew.length, `of ${elements}: ${[...new Set(anew)].join(", ")}`).toBeLessThan(elements / 5);
  });
}
