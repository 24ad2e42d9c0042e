// A phone, 375 px wide: nothing sticks out of any page, whatever it holds.
import { deadLetters, jobOf } from "../fixtures/data";
import { expectFitsAPhone } from "../fixtures/looks";
import { expect, open, test } from "../fixtures/test";

test.use({ viewport: { width: 375, height: 800 } });

test("every page fits, with long words and big numbers", async ({ console: page, api, app, receiver }) => {
  const long = "x".repeat(180);
  const integration = await deadLetters(api, app, receiver, [{ id: long, attributes: { title: long, [long]: 1 } }], {
    integration: `Interminable ${"marketplace-of-very-long-names".repeat(3)}`,
    more: { rate_limit: { requests: 999_999, per_seconds: 86_400 } },
  });
  const job = await jobOf(api, integration, long);
  await api.resync(integration);
  const pages = [
    "/", "/?window=7d", "/integrations", `/integrations/${integration.id}`, "/jobs", `/jobs/${job.id}`, `/jobs?q=${long}&error=400&app_id=${app.id}`,
    "/dead-letters", `/dead-letters?fingerprint=${long}`, "/dead-letters?confirm=purge", `/jobs/${job.id}?notice=conflict`, "/resyncs",
  ];
  for (const path of pages) {
    await open(page, path);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await expectFitsAPhone(page);
  }
});

test("the navigation is in reach", async ({ console: page }) => {
  await open(page, "/");
  for (const [link, title] of [["Jobs", "Jobs"], ["Dead letters", "Dead letters"], ["Re-syncs", "Re-syncs"], ["Overview", "Overview"]]) {
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: link }).click();
    await expect(page.getByRole("heading", { level: 1, name: title })).toBeVisible();
  }
  await expect(page.getByRole("button", { name: "Sign out" })).toBeVisible();
});
