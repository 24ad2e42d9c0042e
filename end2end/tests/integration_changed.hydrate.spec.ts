// An integration's page stays open while somebody else changes its settings.
import { inSync } from "../fixtures/data";
import { card } from "../fixtures/parts";
import { expect, open, test } from "../fixtures/test";

test("new settings are shown, and what is being typed stays", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  await open(page, `/integrations/${integration.id}`);
  await api.call("PATCH", `/integrations/${integration.id}`, { name: "Depot", max_concurrency: 7 });
  await expect(card(page, "Settings")).toContainText("Jobs at once7", { timeout: 20_000 });
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Depot");

  const form = card(page, "Edit limits");
  await form.getByLabel("Attempts of a job").fill("9");
  await api.call("PATCH", `/integrations/${integration.id}`, { max_concurrency: 8 });
  await expect(card(page, "Settings")).toContainText("Jobs at once8", { timeout: 20_000 });
  await expect(form.getByLabel("Attempts of a job")).toHaveValue("9");
  await expect(form.getByLabel("Attempts of a job")).toBeFocused();
  await expect(form.getByLabel("Jobs at once")).toHaveValue("8");
  await form.getByRole("button", { name: "Save limits" }).click();
  await expect.poll(() => api.integration(integration.id)).toMatchObject({ max_attempts: 9, max_concurrency: 8 });
});
