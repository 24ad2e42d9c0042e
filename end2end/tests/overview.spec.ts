// Is anything wrong, where, and until when?
import { collecting, deadLetters, inSync, products, retries } from "../fixtures/data";
import { expectWellMade } from "../fixtures/looks";
import { card, rows, tile } from "../fixtures/parts";
import { expect, open, openUntil, test } from "../fixtures/test";

test("an empty deployment says what to do first", async ({ console: page }) => {
  await openUntil(page, "/", () => expect(page.getByText("Nothing is connected yet")).toBeVisible({ timeout: 1_000 }));
  await expect(card(page, "Needs attention").getByText("No integrations yet")).toBeVisible();
  await expect(page.getByRole("link", { name: "API documentation" })).toHaveAttribute("href", "/api/docs");
  await expect(page).toHaveTitle("Overview · Headgate");
  await expectWellMade(page);
});

test("when all is well one calm sentence says so", async ({ console: page, api, app, receiver }) => {
  await inSync(api, app, receiver, products(2));
  await openUntil(page, "/", async () => {
    await expect(page.getByText("Nothing needs you")).toBeVisible({ timeout: 1_000 });
    await expect(tile(page, "Oldest pending")).toHaveText("–", { timeout: 1_000 });
  });
  await expect(page.getByText("All 2 integrations are in sync or catching up by themselves")).toBeVisible();
  await expect(tile(page, "Dead letters")).toHaveText("0");
  await expectWellMade(page);
});

test("the first row shows real numbers and leads to what it counts", async ({ console: page, api, app, receiver }) => {
  const rejecting = await deadLetters(api, app, receiver, products(2, "bad"), { integration: "Rejecting" });
  await api.pause(rejecting);
  await collecting(api, app, receiver, products(3, "wait"), { integration: "Waiting" });
  await openUntil(page, "/", async () => {
    await expect(tile(page, "Dead letters")).toHaveText("2", { timeout: 1_000 });
    // Both integrations are paused: each change waits at both of them.
    await expect(tile(page, "Backlog")).toHaveText("6", { timeout: 1_000 });
  });
  await expect(tile(page, "To be retried")).toHaveText("0");
  await expect(page.getByRole("heading", { name: "Delivered and failed" })).toBeVisible();
  await expectWellMade(page);

  for (const [name, url, heading] of [
    ["Backlog", "/jobs?status=pending", "Jobs"],
    ["Processing", "/jobs?status=processing", "Jobs"],
    ["To be retried", "/jobs?status=to_be_retried", "Jobs"],
    ["Dead letters", "/dead-letters", "Dead letters"],
  ] as const) {
    await open(page, "/");
    await tile(page, name).click();
    await expect(page).toHaveURL(url);
    await expect(page.getByRole("heading", { level: 1, name: heading })).toBeVisible();
  }
});

test("what needs attention stands first, worst first, with cause and remedy", async ({ console: page, api, app, receiver }) => {
  await inSync(api, app, receiver, products(1, "fine"), { integration: "Alright" });
  await retries(api, app, receiver, [{ id: "late-1" }], { integration: "Out of order" });
  await openUntil(page, "/", () => expect(page.getByText("upstream is out of order").first()).toBeVisible({ timeout: 1_000 }));
  await expect(page.getByText(/\d of 3 integrations needs? attention/)).toBeVisible();

  await expect(card(page, "Needs attention").getByText("Failing")).toBeVisible();
  await expect(rows(page, "Integrations").first()).toContainText("Out of order");

  await page.getByRole("link", { name: /^attempt 1 / }).click();
  await expect(page).toHaveURL(/\/jobs\?status=to_be_retried/);
  await expect(page.getByRole("region", { name: "Jobs, table" }).getByText("product late-1").first()).toBeVisible();
});

test("an integration is paused where its trouble is told", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, products(1), { integration: "Broken gate" });
  await openUntil(page, "/", () => expect(page.getByRole("button", { name: "Pause Broken gate" })).toBeVisible({ timeout: 1_000 }));
  await page.getByRole("button", { name: "Pause Broken gate" }).click();
  await expect(page.getByRole("status").filter({ hasText: "Paused. Its jobs are kept and wait." })).toBeVisible();
  expect((await api.integration(integration.id)).state).toBe("paused");
});

test("the window of the chart is a link", async ({ console: page, app }) => {
  await openUntil(page, "/", () => expect(page.getByText(`workers`).first()).toBeVisible({ timeout: 1_000 }));
  const windows = page.getByRole("navigation", { name: "Time window" });
  await expect(windows.getByRole("link", { name: "1 h" })).toHaveAttribute("aria-current", "page");
  await windows.getByRole("link", { name: "7 d" }).click();
  await expect(page).toHaveURL("/?window=7d");
  await expect(windows.getByRole("link", { name: "7 d" })).toHaveAttribute("aria-current", "page");
  await expect(page.getByText("per 2 hours")).toBeVisible();
  expect(app.id).toBeTruthy();
});
