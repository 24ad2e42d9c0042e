// Re-syncs: their progress, pause, resume and cancel.
import { inSync, products } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { notice, row, rows } from "../fixtures/parts";
import { expect, open, openUntil, test } from "../fixtures/test";

test("an empty list says where to start a re-sync", async ({ console: page, app }) => {
  await open(page, "/resyncs");
  await expect(page).toHaveTitle("Re-syncs · Headgate");
  await expect(page.getByText("No re-syncs yet")).toBeVisible();
  await expectWellMade(page);
  await page.getByRole("main").getByRole("link", { name: "Integrations" }).click();
  await expect(page).toHaveURL("/integrations");
  expect(app.id).toBeTruthy();
});

test("a finished one shows its numbers", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, products(4));
  const { resync_id } = await api.resync(integration);
  await expect.poll(async () => (await api.resyncById(resync_id)).state).toBe("completed");
  await open(page, "/resyncs");
  await expect(row(page, "Re-syncs", "Warehouse")).toContainText("Completed");
  await expect(row(page, "Re-syncs", "Warehouse")).toContainText("4 of 4");
  await expect(row(page, "Re-syncs", "Warehouse")).toContainText("all records");
  await expect(row(page, "Re-syncs", "Warehouse").getByRole("progressbar")).toHaveAttribute("aria-valuenow", "100");
  await expectWellMade(page);
});

test("a running one is paused, resumed and cancelled after a confirmation", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, products(5));
  await api.pause(integration);
  const { resync_id } = await api.resync(integration);
  await expect.poll(async () => (await api.resyncById(resync_id)).total).toBe(5);
  await openUntil(page, "/resyncs", () => expect(row(page, "Re-syncs", "Warehouse")).toContainText("0 of 5", { timeout: 1_000 }));
  await expect(page.getByText("1 re-sync is running")).toBeVisible();
  await expectWellMade(page);

  await page.getByRole("button", { name: "Pause" }).click();
  await expect(notice(page)).toHaveText("Re-sync paused. Nothing more is sent until it is resumed.");
  await expect(row(page, "Re-syncs", "Warehouse")).toContainText("Paused");
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(notice(page)).toHaveText("Re-sync resumed.");

  await row(page, "Re-syncs", "Warehouse").getByRole("link", { name: "Cancel" }).click();
  const question = page.getByRole("dialog", { name: "Cancel this re-sync and its 5 waiting jobs?" });
  await expect(question).toBeVisible();
  await question.getByRole("button", { name: "Cancel 5 waiting jobs" }).click();
  await expect(notice(page)).toHaveText("Re-sync and its waiting jobs cancelled.");
  await expect(row(page, "Re-syncs", "Warehouse")).toContainText("Cancelled");
  await expect(rows(page, "Re-syncs").getByRole("button")).toHaveCount(0);
  expect((await api.resyncById(resync_id)).state).toBe("cancelled");
  expect((await api.status(integration)).backlog).toBe(0);
  expect(receiver.received, "nothing of it was sent").toHaveLength(5);
});
