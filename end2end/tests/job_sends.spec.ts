// What a job is going to send, as its page shows it.
import { inSync, jobOf, products } from "../fixtures/data";
import { card } from "../fixtures/parts";
import { expect, hasJavaScript, open, test } from "../fixtures/test";

test("a job of a full re-sync sends every attribute, whatever was accepted before", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, products(1));
  await api.pause(integration);
  await api.resync(integration);
  await expect.poll(async () => (await api.status(integration)).backlog).toBe(1);
  await open(page, `/integrations/${integration.id}`);
  await expect(card(page, "Re-syncs")).toContainText("Its jobs wait: the integration is paused.");
  const job = (await api.jobs(`integration_id=${integration.id}&status=pending`))[0]!;
  await open(page, `/jobs/${job.id}`);
  const sends = card(page, "What it sends");
  await expect(sends).toContainText("full send: every attribute");
  await expect(sends.getByRole("region", { name: "Changes" })).toContainText('"title": "Product sku-1"');
  await expect(sends.getByRole("region", { name: "Changes" })).not.toContainText("unchanged");
});

test("what a job sends is updated with each change that is folded into it", async ({ console: page, api, app, receiver }) => {
  test.skip(!hasJavaScript(), "without a script pages do not update");
  const integration = await api.createIntegration(app, "Shop front", receiver.url, { debounce: { seconds: 600, max_seconds: 3600 } });
  await api.sendEvents(app, [{ id: "sku-1", attributes: { title: "Oak" } }]);
  await expect.poll(async () => (await api.jobs(`integration_id=${integration.id}`)).length).toBe(1);
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs/${job.id}`);
  await expect(card(page, "As curl")).toContainText("Oak");
  await api.sendEvents(app, [{ id: "sku-1", attributes: { title: "Elm" } }]);
  // Sooner than the page's own refresh.
  await expect(card(page, "What it sends")).toContainText('"title": "Elm"', { timeout: 5_000 });
  await expect(card(page, "As curl")).toContainText("Elm", { timeout: 1_000 });
});
