// The lists on an integration's page: rows change in place, new ones wait behind a link, typed input is kept.
import { inSync, jobOf, products, retries } from "../fixtures/data";
import { card, row, rows } from "../fixtures/parts";
import { expect, open, test } from "../fixtures/test";

test("its recent jobs change in place, and new ones wait", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, products(1));
  await open(page, `/integrations/${integration.id}`);
  await expect(row(page, "Recent jobs", "product sku-1")).toContainText("To be retried");
  const typed = card(page, "Edit limits").getByLabel("Max attempts");
  await typed.fill("9");

  receiver.answer = { status: 200, body: "ok" };
  await api.requeue(await jobOf(api, integration, "sku-1"));
  await expect(row(page, "Recent jobs", "product sku-1")).toContainText("Completed", { timeout: 15_000 });
  await api.sendEvents(app, products(2, "later"));
  const more = card(page, "Recent jobs").getByRole("link", { name: "2 new" });
  await expect(more).toBeVisible({ timeout: 15_000 });
  await expect(rows(page, "Recent jobs")).toHaveCount(1);

  await more.click();
  await expect(rows(page, "Recent jobs")).toHaveCount(3);
  await expect(more).toHaveCount(0);
  await expect(card(page, "Recent jobs"), "the page does not scroll away").toBeInViewport();
  await expect(typed).toHaveValue("9");
});

test("its re-syncs change in place, and new ones wait", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, products(6));
  await api.pause(integration);
  await open(page, `/integrations/${integration.id}`);
  const list = card(page, "Re-syncs");
  await expect(list).toContainText("No re-syncs yet.");
  const { resync_id } = await api.resync(integration);
  const more = list.getByRole("link", { name: "1 new" });
  await more.click();
  await expect(list).toContainText("0 of 6", { timeout: 15_000 });
  await expect(list).toContainText("Running");
  await expect(more).toHaveCount(0);

  await api.call("POST", `/resyncs/${resync_id}/cancel`);
  await expect(list).toContainText("Cancelled", { timeout: 15_000 });
});
