// The progress bar of a running re-sync updates live.
import { inSync, products } from "../fixtures/data";
import { row } from "../fixtures/parts";
import { expect, openUntil, test } from "../fixtures/test";

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
