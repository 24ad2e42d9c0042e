// The columns of the list of jobs: chosen, kept in address and cookie, reset to the default.
import { deadLetters, inSync, products, retries } from "../fixtures/data";
import { expectFitsAPhone, expectWellMade } from "../fixtures/page_checks";
import { row, rows } from "../fixtures/parts";
import { enter, expect, hasJavaScript, hydrated, open, test } from "../fixtures/test";
import type { Page } from "@playwright/test";

const AT_FIRST = ["Job", "State", "Integration", "Attempts", "Accepted", "Last error"];

async function heads(page: Page): Promise<string[]> {
  const all = await page.getByRole("region", { name: "Jobs, table" }).locator("thead th").allInnerTexts();
  return all.map((head) => head.replace(" ↓", "").trim()).slice(1);
}

async function choose(page: Page, ticks: Record<string, boolean>): Promise<void> {
  await page.getByText(/^Columns/).first().click();
  for (const [label, is] of Object.entries(ticks)) await page.getByLabel(`Column ${label}`, { exact: true }).setChecked(is);
  await page.getByRole("button", { name: "Show these columns" }).click();
}

test("columns are chosen, stay with filters, pages and the next visit, and are reset", async ({ console: page, api, app, receiver }) => {
  await inSync(api, app, receiver, products(5));
  await open(page, `/jobs?app_id=${app.id}&limit=2`);
  expect(await heads(page)).toEqual(AT_FIRST);
  await choose(page, { Attempts: false, "Last error": false, Kind: true, Outcome: true, Ended: true });
  await expect(page).toHaveURL(/columns=status%2Cintegration%2Cjob_type%2Ccreated_at%2Cended_at%2Coutcome/);
  const chosen = ["Job", "State", "Integration", "Kind", "Accepted", "Ended", "Outcome"];
  await expect.poll(() => heads(page)).toEqual(chosen);
  await expect(row(page, "Jobs", "product sku-5")).toContainText("sent");
  await hydrated(page);
  await page.getByText(/^Columns:/).click();
  await expectWellMade(page);

  await page.getByRole("link", { name: "Older" }).click();
  await expect(page).toHaveURL(/columns=.*cursor=/);
  await expect.poll(() => heads(page)).toEqual(chosen);
  await page.getByLabel("Search").fill("sku-1");
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(rows(page, "Jobs")).toHaveCount(1);
  await expect(page).toHaveURL(/columns=status/);

  await open(page, `/jobs?app_id=${app.id}`);
  expect(await heads(page), "the next visit").toEqual(chosen);
  await open(page, `/jobs?app_id=${app.id}&columns=app`);
  expect(await heads(page), "an address says it for one visit").toEqual(["Job", "App"]);
  await expect(row(page, "Jobs", "product sku-5")).toContainText(app.name);

  await page.getByText(/^Columns:/).click();
  await page.getByRole("button", { name: "Default columns" }).click();
  await expect(page).toHaveURL(`/jobs?app_id=${app.id}`);
  await expect.poll(() => heads(page)).toEqual(AT_FIRST);
});

test("without any column only the job is shown, and the dialog keeps the columns", async ({ console: page, api, app, receiver }) => {
  await retries(api, app, receiver, products(2));
  await open(page, `/jobs?app_id=${app.id}`);
  await choose(page, { State: false, Integration: false, Attempts: false, Accepted: false, "Last error": false });
  await expect(page).toHaveURL(/columns=job/);
  await expect.poll(() => heads(page)).toEqual(["Job"]);
  await hydrated(page);
  await row(page, "Jobs", "product sku-1").getByRole("checkbox").check();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await expect(page.getByRole("dialog")).toContainText("1 job");
  expect(await heads(page)).toEqual(["Job"]);
});

test("selected rows stay selected when other columns are shown", async ({ console: page, api, app, receiver }) => {
  test.skip(!hasJavaScript(), "without a script other columns load another page");
  await retries(api, app, receiver, products(2));
  await open(page, `/jobs?app_id=${app.id}`);
  await row(page, "Jobs", "product sku-1").getByRole("checkbox").check();
  await choose(page, { Priority: true });
  await expect.poll(() => heads(page)).toContain("Priority");
  await expect(row(page, "Jobs", "product sku-1").getByRole("checkbox")).toBeChecked();
});

test("all columns fit, on a phone too", async ({ console: page, api, app, receiver }) => {
  await deadLetters(api, app, receiver, [{ id: "x".repeat(120) }]);
  await open(page, `/jobs?app_id=${app.id}`);
  await page.getByText(/^Columns/).first().click();
  for (const tick of await page.getByRole("group", { name: /Shown next to the job/ }).getByRole("checkbox").all()) await tick.check();
  await page.getByRole("button", { name: "Show these columns" }).click();
  await expect.poll(async () => (await heads(page)).length).toBe(23);
  await hydrated(page);
  await expectWellMade(page);
  await page.setViewportSize({ width: 375, height: 800 });
  const region = page.getByRole("region", { name: "Jobs, table" });
  expect(await region.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0);
  await expectFitsAPhone(page);
});

test("an unknown column is reported with the known ones", async ({ page, sessions }) => {
  await enter(page, "operator", sessions);
  const answer = await page.goto("/jobs?columns=status,colour");
  expect(answer?.status()).toBe(422);
  await expect(page.getByText(/there is no column “colour”. Known are job, status, integration/)).toBeVisible();
});
