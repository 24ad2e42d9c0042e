// A dialog is modal once hydrated: the focus moves into it, stays in it, and Escape closes it.
import { deadLetters, products } from "../fixtures/data";
import { expect, open, test } from "../fixtures/test";

test("a dialog takes and keeps the focus, and Escape closes it", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(2));
  await open(page, "/dead-letters?error=400");
  await page.getByRole("link", { name: "Purge all that match" }).focus();
  await page.keyboard.press("Enter");
  const question = page.getByRole("dialog", { name: "Purge 2 dead letters?" });
  await expect(question).toBeVisible();
  for (let stop = 0; stop < 5; stop++) {
    const isInside = await question.evaluate((it) => it.contains(document.activeElement) || document.activeElement === document.body);
    expect(isInside, "the focus stays in the dialog").toBe(true);
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Escape");
  await expect(question).toHaveCount(0);
  await expect(page).toHaveURL("/dead-letters?error=400");
  expect((await api.status(integration)).dead_letters).toBe(2);
});

test("a dialog whose address is opened directly is modal too", async ({ console: page, api, app, receiver }) => {
  await deadLetters(api, app, receiver, products(1));
  await open(page, "/dead-letters?confirm=purge");
  const question = page.getByRole("dialog", { name: "Purge 1 dead letter?" });
  await expect(question).toBeVisible();
  expect(await question.evaluate((it) => it.matches(":modal"))).toBe(true);
  await page.keyboard.press("Escape");
  await expect(page).toHaveURL("/dead-letters");
});
