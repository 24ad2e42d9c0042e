// Re-syncs update live: the progress bar of a running one, the headline, and new ones behind a link.
import { inSync, products } from "../fixtures/data";
import { row } from "../fixtures/parts";
import { expect, open, openUntil, test } from "../fixtures/test";

test("progress is followed to the end", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, products(6));
  await api.pause(integration);
  const { resync_id } = await api.resync(integration);
  await expect.poll(async () => (await api.resyncById(resync_id)).total).toBe(6);
  await openUntil(page, "/resyncs", () => expect(row(page, "Re-syncs", "Warehouse")).toContainText("0 of 6", { timeout: 1_000 }));
  await api.resume(integration);
  await expect(row(page, "Re-syncs", "Warehouse")).toContainText("6 of 6", { timeout: 15_000 });
  await expect(row(page, "Re-syncs", "Warehouse")).toContainText("Completed");
});

test("one that is started elsewhere waits behind a link, and the headline counts it", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, products(6));
  await api.pause(integration);
  await open(page, "/resyncs");
  await expect(page.getByText("No re-sync is running.")).toBeVisible();

  await api.resync(integration);
  await expect(page.getByText("1 re-sync is running")).toBeVisible({ timeout: 15_000 });
  const more = page.getByRole("link", { name: "1 new" });
  await more.click();
  await expect(row(page, "Re-syncs", "Warehouse")).toContainText("0 of 6");
  await expect(more).toHaveCount(0);
});
