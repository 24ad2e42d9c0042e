// A phone, 375 px wide: no page overflows, whatever it shows.
import { deadLetters, jobOf, products, retries, settled } from "../fixtures/data";
import { expectAccessible, expectFitsAPhone } from "../fixtures/page_checks";
import { card, rows } from "../fixtures/parts";
import { expect, open, openUntil, test } from "../fixtures/test";

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
    "/", "/?window=7d", "/wall", "/workers", "/rate-limits", "/records", `/records?q=${long}`, "/audit-log", "/settings", "/settings?show=api-keys", "/settings?show=retention", "/integrations", `/integrations/${integration.id}`, "/jobs", `/jobs/${job.id}`, `/jobs?q=${long}&error=400&app_id=${app.id}`,
    "/dead-letters", `/dead-letters?fingerprint=${long}`, "/dead-letters?confirm=purge", "/failures?state=all", `/jobs/${job.id}?notice=conflict`, "/resyncs",
  ];
  for (const path of pages) {
    await open(page, path);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await expectFitsAPhone(page);
  }
});

test("an answer without a space fits wherever it is quoted", async ({ console: page, api, app, receiver }) => {
  receiver.answer = { status: 422, body: JSON.stringify({ message: "x".repeat(180) }) };
  const integration = await api.createIntegration(app, "Marketplace", receiver.url);
  await api.sendEvents(app, products(1));
  await settled(api, integration, "dead_letters", 1);
  const causes = card(page, "Failures by cause").getByRole("listitem");
  await openUntil(page, `/integrations/${integration.id}`, () => expect(causes).toHaveCount(1, { timeout: 1_000 }));
  await expect(causes).toContainText("xxx");
  await expectFitsAPhone(page);
  await causes.getByRole("link").click();
  await expect(page.getByText("Newest error")).toBeVisible();
  await expectFitsAPhone(page);
});

test("name, state and time of a job are visible without scrolling sideways", async ({ console: page, api, app, receiver }) => {
  await retries(api, app, receiver, products(2));
  for (const [path, table, state] of [["/jobs", "Jobs", "To be retried"], ["/integrations", "Integrations", /Retrying|Failing/]] as const) {
    await openUntil(page, path, () => expect(rows(page, table).filter({ hasText: state })).not.toHaveCount(0, { timeout: 1_000 }));
    const region = page.getByRole("region", { name: `${table}, table` });
    expect(await region.evaluate((it) => it.scrollWidth - it.clientWidth), `${table} does not overflow`).toBe(0);
    const line = rows(page, table).filter({ hasText: state }).first();
    for (const cell of table === "Jobs" ? [".what", ".state", ".when", ".where"] : [".what", ".state"]) {
      const box = await line.locator(cell).boundingBox();
      expect(box && box.x >= 0 && box.x + box.width <= 375, `${cell} of ${table}`).toBe(true);
    }
  }
  await open(page, "/jobs");
  await rows(page, "Jobs").filter({ hasText: "product sku-1" }).getByRole("checkbox").check();
});

test("the navigation is usable", async ({ console: page }) => {
  await open(page, "/");
  for (const [link, title] of [["Jobs", "Jobs"], ["Dead letters", "Dead letters"], ["Re-syncs", "Re-syncs"], ["Overview", "Overview"]]) {
    const navigation = page.getByRole("navigation", { name: "Main" });
    await navigation.getByRole("button", { name: /^Menu: / }).click();
    await expectAccessible(page);
    await navigation.getByRole("link", { name: link }).click();
    await expect(page.getByRole("heading", { level: 1, name: title })).toBeVisible();
    await expect(navigation.getByRole("button", { name: `Menu: ${title}` })).toBeVisible();
    await expect(navigation.getByRole("link", { name: "Audit log" })).toBeHidden();
  }
  await page.getByRole("button", { name: /^Menu: / }).click();
  await expect(page.getByRole("button", { name: "Sign out" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "Sign out" })).toBeHidden();
});
