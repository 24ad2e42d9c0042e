// The wallboard.
import { collecting, products } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { card, tile } from "../fixtures/parts";
import { enter, expect, hasJavaScript, open, openUntil, test } from "../fixtures/test";

test("the wallboard shows the overview without navigation, and is linked from it", async ({ console: page, api, app, receiver }) => {
  await collecting(api, app, receiver, products(3), { integration: "Price feed" });
  await openUntil(page, "/", () => expect(tile(page, "Backlog")).toHaveText("3", { timeout: 1_000 }));
  await page.getByRole("link", { name: "Wallboard" }).click();
  await expect(page).toHaveURL("/wall");
  await expect(page).toHaveTitle("Wallboard · Headgate");
  await expect(tile(page, "Backlog")).toHaveText("3");
  await expect(page.getByRole("navigation", { name: "Main" })).toHaveCount(0);
  await expect(card(page, "Needs attention")).toContainText("Price feed");
  await expect(card(page, "Needs attention").getByRole("button"), "a wallboard has no actions").toHaveCount(0);
  await expectWellMade(page);
  await page.getByRole("link", { name: "Overview" }).click();
  await expect(page).toHaveURL("/");
});

test("the wallboard fits on one screen, small or large", async ({ console: page, api, app, receiver }) => {
  await collecting(api, app, receiver, products(1));
  for (const [width, height] of [[1_920, 1_080], [3_840, 2_160]] as const) {
    await page.setViewportSize({ width, height });
    await open(page, "/wall");
    await expect(tile(page, "Backlog")).toBeVisible();
    const size = await page.locator("html").evaluate((it) => [it.scrollHeight - it.clientHeight, it.scrollWidth - it.clientWidth]);
    expect(size, `${width} × ${height} needs no scrolling`).toEqual([0, 0]);
  }
});

test("the wallboard needs a session", async ({ page }) => {
  await page.goto("/wall");
  await expect(page).toHaveURL(/\/sign-in\?next=%2Fwall$/);
});

// A broken stream is an error in the browser's console, which is expected here.
test("old numbers are reported across the wallboard, with the reason", async ({ page, sessions }) => {
  test.skip(!hasJavaScript(), "live numbers need a script");
  await enter(page, "operator", sessions);
  await open(page, "/wall");
  await expect(page.getByText(/^Live/)).toBeVisible();
  await page.route("**/api/v1/live?*", (route) => route.abort("connectionfailed"));
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await expect(page.getByText(/^Numbers from \d\d:\d\d:\d\d UTC: connection to Headgate lost/)).toBeVisible({ timeout: 15_000 });
});
