// Light, dark, as the system: chosen by one button, kept over reloads, right at the first paint.
import type { Page } from "@playwright/test";
import { deadLetters, products } from "../fixtures/data";
import { expect, hydrated, open, test } from "../fixtures/test";


test("the button cycles through the themes, and the choice survives a reload", async ({ console: page }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await open(page, "/jobs");
  const system = await background(page);
  await page.getByRole("button", { name: "Theme: system. Change to light" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
  await expect(page).toHaveURL("/jobs");
  expect(await background(page)).toBe(system);
  await hydrated(page);

  await page.getByRole("button", { name: "Theme: light. Change to dark" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await expect.poll(() => background(page)).not.toBe(system);
  await expect(page.getByRole("button", { name: "Theme: dark. Change to system" })).toBeVisible();
  await expect.poll(async () => (await page.context().cookies()).find((c) => c.name === "headgate_theme")?.value).toBe("dark");

  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await hydrated(page);
  await page.getByRole("button", { name: "Theme: dark. Change to system" }).click();
  await expect(page.locator("html")).not.toHaveAttribute("data-theme");
  expect(await background(page)).toBe(system);
});

test("without a choice the system decides", async ({ console: page }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await open(page, "/");
  const dark = await background(page);
  await page.emulateMedia({ colorScheme: "light" });
  expect(await background(page)).not.toBe(dark);
});

test("the sign-in page has the button too, and keeps its address", async ({ page }) => {
  await open(page, "/sign-in?next=%2Fjobs");
  await page.getByRole("button", { name: "Theme: system. Change to light" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
  await expect(page).toHaveURL(/\/sign-in\?next=%2Fjobs/);
});

test("a printed page is white, has all columns and its date", async ({ console: page, api, app, receiver }) => {
  await deadLetters(api, app, receiver, products(1, "printed"));
  await page.emulateMedia({ colorScheme: "dark" });
  // The width of A4 between its margins.
  await page.setViewportSize({ width: 703, height: 1030 });
  for (const path of ["/", "/integrations", "/jobs", "/dead-letters", "/failures", "/rate-limits"]) {
    await page.emulateMedia({ media: "screen" });
    await open(page, path);
    await page.emulateMedia({ media: "print" });
    expect(await background(page)).toBe("rgb(255, 255, 255)");
    await expect(page.getByText(/^As of \d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} UTC$/)).toBeVisible();
    await expect(page.getByRole("navigation", { name: "Main" })).toBeHidden();
    await expect(page.locator("main button").filter({ visible: true })).toHaveCount(0);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), `${path} fits`).toBe(0);
  }
});

function background(page: Page): Promise<string> {
  return page.locator("html").evaluate((html) => getComputedStyle(html).backgroundColor);
}
