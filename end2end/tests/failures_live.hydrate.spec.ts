// Groups update live: numbers in place, new groups behind a link, nothing while a dialog is open.
import { products, settled } from "../fixtures/data";
import { row, rows } from "../fixtures/parts";
import { expect, openUntil, test } from "../fixtures/test";

const TABLE = "Failures by cause";

test("numbers change in place, new groups wait, a dialog freezes the page", async ({ console: page, api, app, receiver }) => {
  receiver.answer = { status: 422, body: "the shop wants no feathers" };
  const integration = await api.createIntegration(app, "Aviary", receiver.url);
  await api.sendEvents(app, products(1));
  await settled(api, integration, "dead_letters", 1);
  const list = `/failures?integration_id=${integration.id}`;
  await openUntil(page, list, () => expect(rows(page, TABLE)).toHaveCount(1, { timeout: 1_000 }));
  const group = row(page, TABLE, "no feathers");
  await expect(group.locator("[data-label='dead letters']")).toHaveText("1");
  await group.evaluate((row) => row.setAttribute("data-mine", "yes"));

  await api.sendEvents(app, products(2, "more"));
  await settled(api, integration, "dead_letters", 3);
  await expect(group.locator("[data-label='dead letters']")).toHaveText("3", { timeout: 15_000 });
  await expect(group, "the row is the same").toHaveAttribute("data-mine", "yes");

  receiver.answer = { status: 404, body: "there is no aviary" };
  await api.sendEvents(app, products(1, "other"));
  await settled(api, integration, "dead_letters", 4);
  const more = page.getByRole("link", { name: "1 new" });
  await expect(more).toBeVisible({ timeout: 15_000 });
  await expect(rows(page, TABLE)).toHaveCount(1);
  await more.click();
  await expect(rows(page, TABLE)).toHaveCount(2);

  await row(page, TABLE, "no feathers").getByRole("link", { name: /^Retry/ }).click();
  await expect(page.getByRole("dialog", { name: "Retry 3 jobs?" })).toBeVisible();
  await expect(page.getByText(/^Frozen/)).toBeVisible({ timeout: 15_000 });
});

test("a group that leaves the list keeps its last numbers, and says so", async ({ console: page, api, app, receiver }) => {
  receiver.answer = { status: 422, body: "the stable wants no straw" };
  const integration = await api.createIntegration(app, "Stable", receiver.url);
  await api.sendEvents(app, products(1));
  await settled(api, integration, "dead_letters", 1);
  const list = `/failures?integration_id=${integration.id}`;
  await openUntil(page, list, () => expect(rows(page, TABLE)).toHaveCount(1, { timeout: 1_000 }));
  const group = row(page, TABLE, "no straw");
  await api.sendEvents(app, products(2, "more"));
  await settled(api, integration, "dead_letters", 3);
  await expect(group.locator("[data-label='dead letters']")).toHaveText("3", { timeout: 15_000 });

  receiver.answer = { status: 200, body: "ok" };
  await api.call("POST", "/jobs/bulk", { action: "requeue", filter: { integration_id: integration.id, status: "failed" } });
  await settled(api, integration, "records_in_sync", 3);
  await expect(group).toContainText("No longer listed", { timeout: 15_000 });
  await expect(group.locator("[data-label='dead letters']"), "not the number of the first paint").toHaveText("3");
});
