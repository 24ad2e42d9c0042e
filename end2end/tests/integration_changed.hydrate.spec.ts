// Somebody else changes the settings while an integration's page is open.
import { inSync } from "../fixtures/data";
import { card } from "../fixtures/parts";
import { expect, open, test } from "../fixtures/test";

test("new settings are shown, and typed input is kept", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  await open(page, `/integrations/${integration.id}`);
  await api.call("PATCH", `/integrations/${integration.id}`, { name: "Depot", max_concurrency: 7 });
  await expect(card(page, "Settings")).toContainText("Concurrency7", { timeout: 20_000 });
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Depot");

  const form = card(page, "Edit limits");
  await form.getByLabel("Max attempts").fill("9");
  await api.call("PATCH", `/integrations/${integration.id}`, { max_concurrency: 8 });
  await expect(card(page, "Settings")).toContainText("Concurrency8", { timeout: 20_000 });
  await expect(form.getByLabel("Max attempts")).toHaveValue("9");
  await expect(form.getByLabel("Max attempts")).toBeFocused();
  await expect(form.getByLabel("Concurrency")).toHaveValue("8");
  await form.getByRole("button", { name: "Save limits" }).click();
  await expect.poll(() => api.integration(integration.id)).toMatchObject({ max_attempts: 9, max_concurrency: 8 });
});

test("a form that is under way while new settings are shown gets its answer", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  await open(page, `/integrations/${integration.id}`);
  let send = () => {};
  const released = new Promise<void>((resolve) => (send = resolve));
  await page.route("**/console/edit-limits", async (route) => {
    await released;
    await route.continue();
  });
  const form = card(page, "Edit limits");
  await form.getByLabel("Concurrency").fill("9");
  const asked = page.waitForRequest("**/console/edit-limits");
  await form.getByRole("button", { name: "Save limits" }).click();
  await asked;
  await api.call("PATCH", `/integrations/${integration.id}`, { name: "Depot", max_concurrency: 7 });
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Depot", { timeout: 20_000 });
  send();
  await expect(page.getByRole("alert")).toContainText("Someone else changed it in the meantime");
  await expect(form.getByLabel("Concurrency")).toHaveValue("9");
});
