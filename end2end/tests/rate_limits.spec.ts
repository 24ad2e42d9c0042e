// The page of rate limits: their use, answers of 429 below the limit, and editing.
import { collecting, inSync, products } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { card, notice, row, rows } from "../fixtures/parts";
import { enter, expect, hasJavaScript, hydrated, open, openUntil, test } from "../fixtures/test";

const LIMIT = { more: { rate_limit: { requests: 50, per_seconds: 1 } } };

test("each limit shows its use, its backlog and the integrations that share it", async ({ console: page, api, app, receiver }) => {
  await inSync(api, app, receiver, products(4), { integration: "Warehouse", ...LIMIT });
  const shared = { more: { rate_limit: { requests: 2, per_seconds: 60 }, rate_limit_key: "erp" } };
  await api.createIntegration(app, "ERP orders", receiver.url, shared.more);
  await collecting(api, app, receiver, products(3, "late"), { integration: "ERP stock", ...shared });
  await openUntil(page, "/rate-limits", () =>
    expect(row(page, "Rate limits", "ERP orders")).toContainText("3", { timeout: 1_000 }),
  );
  await expect(rows(page, "Rate limits")).toHaveCount(2);
  const erp = row(page, "Rate limits", "ERP orders");
  await expect(erp).toContainText("ERP stock");
  await expect(erp).toContainText("shared key erp");
  // At least four of the three thousand slots of a minute.
  const strip = row(page, "Rate limits", "Warehouse").getByRole("img", { name: /Limit use per minute/ });
  await expect(strip).toHaveAccessibleName(/peak 0\.\d % at/);
  await expect(strip.locator("title").filter({ hasText: "of 3,000 used" })).toHaveCount(60);
  await expectWellMade(page);

  await page.getByRole("link", { name: "24 h by 15 min" }).click();
  await expect(page).toHaveURL(/window=24h/);
  await expect(row(page, "Rate limits", "Warehouse").locator("title").filter({ hasText: "of 45,000 used" })).toHaveCount(96);

  await page.getByRole("link", { name: "Numbers" }).click();
  await expect(row(page, "Rate limits in numbers", "Warehouse")).toContainText(/\d+ \/ 45,000/);
  await expectWellMade(page);

  await open(page, "/rate-limits?name=erp");
  await expect(rows(page, "Rate limits")).toHaveCount(1);
  await open(page, "/rate-limits?name=nobody");
  await expect(page.getByText("No limits match this name")).toBeVisible();
});

test("an answer of 429 below the limit is hatched, an edit is marked", async ({ console: page, api, app, receiver }) => {
  receiver.answer = { status: 429, body: "slow down" };
  const integration = await api.createIntegration(app, "Marketplace", receiver.url, LIMIT.more);
  await api.sendEvents(app, products(1));
  await expect.poll(() => receiver.received.length).toBeGreaterThan(0);
  await api.call("PATCH", `/integrations/${integration.id}`, { rate_limit: { requests: 40, per_seconds: 1 } });
  await openUntil(page, "/rate-limits", async () => {
    const strip = row(page, "Rate limits", "Marketplace").getByRole("img", { name: /Limit use/ });
    await expect(strip).toHaveAccessibleName(/429 below the limit in 1 of 60 steps; edited 1 time/, { timeout: 1_000 });
    await expect(strip.locator("title").filter({ hasText: /× 429/ })).toHaveCount(1);
  });
});

test("several limits and the waits between attempts are edited", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, [], { integration: "Warehouse", ...LIMIT });
  await open(page, "/rate-limits");
  await row(page, "Rate limits", "Warehouse").getByRole("link", { name: "Edit limits of Warehouse" }).click();
  const form = card(page, "Limits of Warehouse");
  await expect(form.getByLabel("Requests", { exact: true })).toHaveValue("50");
  await expectWellMade(page);
  await form.getByLabel("Requests", { exact: true }).fill("10");
  await form.getByLabel("2nd limit: requests").fill("300");
  await form.getByLabel("2nd limit: window, seconds").fill("60");
  await form.getByLabel("Retry schedule").fill("10s,1m,10m");
  await form.getByLabel("Attempt timeout, seconds").fill("2.5");
  await form.getByRole("button", { name: "Save limits" }).click();
  await expect(notice(page)).toHaveText("Limits saved. They apply from the next request.");
  expect(await api.integration(integration.id)).toMatchObject({
    rate_limit: [{ requests: 10, per_seconds: 1 }, { requests: 300, per_seconds: 60 }],
    retry_schedule: "10s,1m,10m",
    timeout_ms: 2_500,
  });
  await expect(rows(page, "Rate limits")).toHaveCount(2);

  // Each fault is shown at its field, on the page the form came from, and typed values are kept.
  await open(page, `/rate-limits?edit=${integration.id}`);
  await form.getByLabel("2nd limit: requests").fill("300");
  await form.getByLabel("Retry schedule").fill("soon");
  await form.getByRole("button", { name: "Save limits" }).click();
  await expect(page.getByRole("alert").filter({ hasText: "Nothing was changed" })).toBeVisible();
  await expect(form.getByLabel("Retry schedule")).toHaveAttribute("aria-invalid", "true");
  await expect(form.getByLabel("Retry schedule")).toHaveValue("soon");
  await expect(form.getByLabel("2nd limit: requests")).toHaveValue("300");
  await hydrated(page);
});

test("the effect of another limit is shown before it is set", async ({ console: page, api, app, receiver }) => {
  const integration = await collecting(api, app, receiver, products(30), { integration: "Warehouse", ...LIMIT });
  const form = page.getByRole("form", { name: "What if" });
  // The sampler counts the jobs a moment later.
  await openUntil(page, `/rate-limits?edit=${integration.id}&what_if=20`, () =>
    expect(form).toContainText("At 20 per second it drains in", { timeout: 1_000 }),
  );
  await form.getByLabel("What-if limit, per second").fill("0.1");
  if (!hasJavaScript()) await form.getByRole("button", { name: "Calculate" }).click();
  await expect(form).toContainText(/At 0\.1 per second it (drains in|never drains)/);
  await form.getByLabel("What-if limit, per second").fill("fast");
  if (!hasJavaScript()) await form.getByRole("button", { name: "Calculate" }).click();
  await expect(form).toContainText("Enter a number of requests per second");
  await expectWellMade(page);
});

test("an auditor reads the limits and edits nothing", async ({ page, sessions, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, [], { integration: "Warehouse", ...LIMIT });
  await enter(page, "auditor", sessions);
  await open(page, `/rate-limits?edit=${integration.id}`);
  await expect(rows(page, "Rate limits")).toHaveCount(1);
  await expect(page.getByRole("link", { name: /^Edit/ })).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Save limits" })).toHaveCount(0);
});
