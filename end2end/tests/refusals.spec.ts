// Pages that do not exist or are not allowed: what is wrong, why, and one link that helps.
import { expectWellMade } from "../fixtures/page_checks";
import { enter, expect, test } from "../fixtures/test";

test("an unknown address says so and leads to the overview", async ({ page, sessions }) => {
  await enter(page, "operator", sessions);
  const answer = await page.goto("/no-such-page");
  expect(answer?.status()).toBe(404);
  await expect(page).toHaveTitle("Not found · Headgate");
  await expect(page.getByRole("heading", { level: 1, name: "Page not found" })).toBeVisible();
  await expectWellMade(page);
  await page.getByRole("link", { name: "Overview" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Overview" })).toBeVisible();
});

test("a page that the role may not see says which roles may", async ({ page, sessions }) => {
  await enter(page, "support", sessions);
  const answer = await page.goto("/workers");
  expect(answer?.status()).toBe(403);
  await expect(page).toHaveTitle("Forbidden · Headgate");
  await expect(page.getByRole("heading", { level: 1, name: "Your role cannot open this page" })).toBeVisible();
  await expect(page.getByText("signed in as support@example.test with the role support")).toBeVisible();
  await expectWellMade(page);
  await page.getByRole("link", { name: "Overview" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Overview" })).toBeVisible();
});

test("a value masked for the role cannot be a filter, and the page names it", async ({ page, sessions }) => {
  await enter(page, "support", sessions);
  for (const path of ["/jobs", "/dead-letters"]) {
    const answer = await page.goto(`${path}?max_age=1h&payload.customer.apiKey=hunter2`);
    expect(answer?.status()).toBe(422);
    await expect(page.getByText("payload.customer.apiKey is masked: jobs cannot be found by it")).toBeVisible();
    await expectWellMade(page);
    await page.getByRole("link", { name: "Clear filters" }).click();
    await expect(page).toHaveURL(path);
  }
});

test("a job that no longer exists leads to all jobs", async ({ page, sessions }) => {
  await enter(page, "operator", sessions);
  await page.goto("/jobs/0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7");
  await expect(page.getByText("It does not exist or was deleted")).toBeVisible();
  await expectWellMade(page);
  await page.getByRole("link", { name: "All jobs" }).click();
  await expect(page).toHaveURL("/jobs");
});

test("without a session every address leads to the sign-in", async ({ page }) => {
  for (const path of ["/jobs?status=failed", "/workers", "/no-such-page"]) {
    await page.goto(path);
    await expect(page).toHaveURL(`/sign-in?next=${encodeURIComponent(path)}`);
    await expect(page.getByRole("heading", { level: 1, name: "Sign in" })).toBeVisible();
  }
});
