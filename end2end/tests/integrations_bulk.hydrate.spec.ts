// Integrations that are paused or resumed, one by one or many at once, while their list is open.
import { notice, row } from "../fixtures/parts";
import { expect, openUntil, test } from "../fixtures/test";

test("states and counts follow within a moment", async ({ console: page, api, app, receiver }) => {
  const alpha = await api.createIntegration(app, "Alpha", receiver.url);
  const gamma = await api.createIntegration(app, "Gamma", receiver.url);
  await openUntil(page, `/integrations?app_id=${app.id}&name=a`, () => expect(row(page, "Integrations", "Gamma")).toBeVisible({ timeout: 1_000 }));
  const paused = page.getByRole("navigation", { name: "Filter by state" }).getByRole("link", { name: /^Paused/ });
  // The list itself is loaded again after ten seconds.
  const soon = { timeout: 5_000 };
  await api.pause(alpha);
  await api.pause(gamma);
  await expect(row(page, "Integrations", "Gamma")).toContainText("Paused", soon);
  await expect(paused).toHaveText(/^Paused\s*2$/, soon);

  await page.getByRole("link", { name: "Resume 2" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Resume 2 integrations" }).click();
  await expect(notice(page)).toHaveText("2 integrations resumed. Waiting jobs are sent again.");
  await expect(row(page, "Integrations", "Gamma")).toContainText("Never synced", soon);
  await expect(paused).toHaveText(/^Paused\s*0$/, soon);
});
