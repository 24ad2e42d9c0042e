// The audit log: filters, changes with before and after, undo and repeat.
import type { Page } from "@playwright/test";
import { inSync } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { notice, rows } from "../fixtures/parts";
import { enter, expect, open, test } from "../fixtures/test";

test("a changed limit is found by its integration and undone, once", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  await api.call("PATCH", `/integrations/${integration.id}`, { max_concurrency: 7 });
  await open(page, `/audit-log?object_id=${integration.id}`);
  const lines = rows(page, "Audit log");
  await expect(lines).toHaveCount(2);
  const line = lines.first();
  await expect(line).toContainText(`changed integration ${integration.name}`);
  await expect(line).toContainText("HEADGATE_ADMIN_API_KEY");
  await expect(lines.last()).toContainText("created integration");
  await line.locator("summary").click();
  await expect(line.getByRole("region", { name: "Changes" })).toContainText('"max_concurrency": 50');
  await expect(line.getByRole("region", { name: "Changes" })).toContainText('"max_concurrency": 7');
  await expectWellMade(page);

  await line.getByRole("button", { name: "Undo" }).click();
  await expect(notice(page)).toHaveText("Undone.");
  await expect(page, "the filter stays").toHaveURL(new RegExp(`object_id=${integration.id}`));
  expect((await api.integration(integration.id)).max_concurrency).toBe(50);
  await expect(lines).toHaveCount(3);
  await expect(lines.first()).toContainText("undoes an earlier change");
  await expect(lines.nth(1)).toContainText("later undone");
  await expect(lines.nth(1).getByRole("button", { name: "Undo" })).toHaveCount(0);

  await lines.nth(1).getByRole("button", { name: "Repeat" }).click();
  await expect(notice(page)).toHaveText("Repeated.");
  expect((await api.integration(integration.id)).max_concurrency).toBe(7);
});

test("a change that was changed again since is not undone", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  await api.call("PATCH", `/integrations/${integration.id}`, { max_concurrency: 7 });
  await api.call("PATCH", `/integrations/${integration.id}`, { max_concurrency: 8 });
  await open(page, `/audit-log?object_id=${integration.id}`);
  await rows(page, "Audit log").nth(1).getByRole("button", { name: "Undo" }).click();
  await expect(page.getByRole("alert")).toHaveText(/It has changed since\. Nothing was undone/);
  expect((await api.integration(integration.id)).max_concurrency).toBe(8);
});

test("the log is filtered by action, actor and time, all in the address", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  await api.pause(integration);
  await open(page, `/audit-log?object_id=${integration.id}`);
  await page.getByLabel("What", { exact: true }).selectOption({ label: "Paused integration" });
  await filter(page);
  await expect(page).toHaveURL(/action=integration\.pause/);
  await expect(rows(page, "Audit log")).toHaveCount(1);
  await page.getByLabel("Who").fill("nobody@example.test");
  await filter(page);
  await expect(page.getByText("No entries match these filters")).toBeVisible();
  await page.getByRole("link", { name: "Clear" }).first().click();
  await expect(page).toHaveURL(/\/audit-log$/);
  await open(page, `/audit-log?object_id=${integration.id}&created_before=2020-01-01T00%3A00`);
  await expect(page.getByText("No entries match these filters")).toBeVisible();
  await expect(page.getByLabel("Until (UTC)")).toHaveValue("2020-01-01T00:00");
});

test("a filter of the log that cannot be read is reported", async ({ page, sessions }) => {
  await enter(page, "operator", sessions);
  const answer = await page.goto("/audit-log?created_after=yesterday");
  expect(answer?.status()).toBe(422);
  await expect(page.getByText(/One of its filters is not understood/)).toBeVisible();
});

test.describe("auditor", () => {
  test.use({ role: "auditor" });

  test("reads the log and is offered neither undo nor repeat", async ({ console: page, api, app, receiver }) => {
    const integration = await inSync(api, app, receiver, []);
    await api.pause(integration);
    await open(page, `/audit-log?object_id=${integration.id}`);
    await expect(rows(page, "Audit log")).toHaveCount(2);
    await expect(page.getByRole("button", { name: /Undo|Repeat/ })).toHaveCount(0);
  });
});

async function filter(page: Page): Promise<void> {
  await page.getByRole("search").getByRole("button", { name: "Filter" }).click();
}
