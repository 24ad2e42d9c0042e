// An operator requeues the backlog of a flaky system, 3,000 dead letters at 20 per second, pauses and undoes it.
import { manyDeadLetters } from "../fixtures/backlog";
import { expectWellMade } from "../fixtures/page_checks";
import { card, notice, row } from "../fixtures/parts";
import { expect, open, openUntil, test } from "../fixtures/test";

type Operation = { id: string; state: string; changed: number; skipped: number; matched: number; undone_by: string | null };

test("a large backlog is requeued slowly, paused and undone", async ({ console: page, api, app, receiver }) => {
  const integration = await manyDeadLetters(api, app, receiver, 3_000);
  await open(page, `/dead-letters?integration_id=${integration.id}&error=503`);
  await page.getByRole("link", { name: "Requeue all that match" }).click();
  const question = page.getByRole("dialog", { name: "Requeue 3,000 dead letters?" });
  await expect(question).toContainText("Flaky");
  await expect(question).toContainText("3,000 failed");
  await expect(question).toContainText("Flaky: 3,000 more");
  await expect(question.getByRole("link", { name: /^product sku-/ })).toHaveCount(5);
  await expectWellMade(page);
  await question.getByLabel("Reason").fill("They say it is up again");
  await question.getByLabel("Max per second").fill("20");
  await question.getByLabel("Start delay, seconds").fill("0");
  await question.getByRole("button", { name: "Requeue 3,000 dead letters" }).click();
  await expect(notice(page)).toHaveText("3,000 are being processed in the background.");
  await expect(page).toHaveURL(/error=503/);

  await page.getByRole("link", { name: "Follow progress" }).click();
  await expect(page).toHaveTitle("Bulk operations · Headgate");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Requeue 3,000 dead letters");
  await expect(card(page, "Progress")).toContainText("They say it is up again");
  await expect(card(page, "Progress")).toContainText("at most 20 per second");
  await expect(card(page, "Scope")).toContainText("Dead letters for Flaky, whose error contains “503”.");
  const id = new URL(page.url()).pathname.split("/").pop();
  const operation = () => api.call<Operation>("GET", `/operations/${id}`);
  await expect.poll(async () => (await operation()).changed, { timeout: 15_000 }).toBeGreaterThan(0);

  await page.getByRole("button", { name: "Pause" }).click();
  await expect(notice(page)).toHaveText("Paused. Changes made so far stay.");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Paused");
  await expectWellMade(page);
  const paused = await operation();
  expect(paused.state).toBe("paused");
  expect(paused.changed).toBeLessThan(3_000);
  expect((await api.status(integration)).dead_letters).toBe(3_000 - paused.changed);

  await page.getByRole("button", { name: "Undo" }).click();
  await expect(notice(page)).toHaveText("Undoing, except for jobs attempted since.");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Undone");
  await expect.poll(async () => (await api.status(integration)).dead_letters, { timeout: 15_000 }).toBe(3_000);
  await page.getByRole("link", { name: /^operation / }).click();
  await openUntil(page, new URL(page.url()).pathname, () =>
    expect(card(page, "Progress")).toContainText(`${paused.changed} of ${paused.changed} changed`, { timeout: 1_000 }),
  );
  await expectWellMade(page);

  await open(page, "/operations");
  await expect(row(page, "Bulk operations", "Undo: restore").first()).toContainText("Done");
  await expect(row(page, "Bulk operations", "Requeue 3,000 dead letters").first()).toContainText("Undone");
  await expectWellMade(page);
});

test("the deletion of an app is an operation that cannot be stopped", async ({ console: page, api }) => {
  const app = await api.createApp();
  await api.deleteApp(app);
  await open(page, "/operations");
  const line = row(page, "Bulk operations", `Delete the app “${app.name}”`);
  await expect(line).toContainText("Done");
  await expect(line.getByRole("button")).toHaveCount(0);
  await line.getByRole("link").first().click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText(`Delete the app “${app.name}”`);
  await expect(card(page, "Scope")).toContainText("records, and their sent state");
  await expectWellMade(page);
});

test("an operation with a start delay is withdrawn before anything is changed", async ({ console: page, api, app, receiver }) => {
  const integration = await manyDeadLetters(api, app, receiver, 120);
  await open(page, `/dead-letters?integration_id=${integration.id}`);
  await page.getByRole("link", { name: "Purge all that match" }).click();
  const question = page.getByRole("dialog", { name: "Purge 120 dead letters?" });
  await question.getByLabel("Start delay, seconds").fill("3600");
  await question.getByRole("button", { name: "Purge 120 dead letters" }).click();
  await expect(notice(page)).toHaveText("Nothing has changed yet: 120 are waiting for the start delay. Abort to call it off.");
  await page.getByRole("link", { name: "Follow progress" }).click();
  await expect(page.getByText("Nothing has changed yet. It starts in")).toBeVisible();
  await page.getByRole("button", { name: "Abort" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Aborted");
  await expect(page.getByRole("button", { name: "Undo" })).toHaveCount(0);
  expect((await api.status(integration)).dead_letters).toBe(120);
});
