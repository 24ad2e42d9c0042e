// Everything by keyboard: the skip link first, and the focus always visible.
import { deadLetters, products } from "../fixtures/data";
import { rows } from "../fixtures/parts";
import { expect, open, test } from "../fixtures/test";

test("the first tab stop skips to the content", async ({ console: page }) => {
  await open(page, "/jobs");
  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to content" });
  await expect(skip).toBeFocused();
  await expect(skip).toBeInViewport();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await expect(page.getByRole("main").locator(":focus")).toHaveCount(1);
});

test("the focus is visible at every tab stop", async ({ console: page, api, app, receiver }) => {
  await deadLetters(api, app, receiver, products(2));
  await open(page, "/dead-letters");
  let stops = 0;
  await page.keyboard.press("Tab");
  for (; (await page.locator(":focus").count()) > 0 && stops < 80; stops++) {
    const unseen = await page.locator(":focus").evaluate((e) => {
      const style = getComputedStyle(e);
      const box = e.getBoundingClientRect();
      const isMarked = (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
      return isMarked && box.width > 0 && box.height > 0 ? [] : [e.outerHTML.slice(0, 200)];
    });
    expect(unseen, "the focus is visible").toEqual([]);
    await page.keyboard.press("Tab");
  }
  expect(stops, "there are tab stops, and a last one").toBeGreaterThan(20);
  expect(stops).toBeLessThan(80);
});

test("a dead letter is selected and requeued without a pointer", async ({ console: page, api, app, receiver }) => {
  await deadLetters(api, app, receiver, products(1));
  await open(page, "/dead-letters");
  await rows(page, "Dead letters").first().getByRole("checkbox").focus();
  await page.keyboard.press("Space");
  await page.getByRole("button", { name: "Requeue" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("status").filter({ hasText: "1 job requeued" })).toBeVisible();
});
