// The list of integrations, and one of them: pause, resume, limits, re-sync.
import { collecting, deadLetters, inSync, products, settled } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { card, notice, row, rows, tile } from "../fixtures/parts";
import { enter, expect, hasJavaScript, hydrated, open, openUntil, test } from "../fixtures/test";

test("the list is filtered by address, name, app and state", async ({ console: page, api, app, receiver }) => {
  await collecting(api, app, receiver, products(2), { integration: "Price feed" });
  await inSync(api, app, receiver, [], { integration: "Warehouse" });
  await openUntil(page, "/integrations", () => expect(rows(page, "Integrations")).toHaveCount(3, { timeout: 1_000 }));
  await expect(page.getByText("3 integrations of 1 app")).toBeVisible();
  await expect(row(page, "Integrations", "Price feed")).toContainText("Paused");
  await expect(row(page, "Integrations", "Warehouse")).toContainText("Never synced");
  await expectWellMade(page);

  await page.getByLabel("Name").fill("ware");
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(page).toHaveURL(/name=ware/);
  await expect(rows(page, "Integrations")).toHaveCount(1);
  await expect(page.getByLabel("Name")).toHaveValue("ware");

  const states = page.getByRole("navigation", { name: "Filter by state" });
  await states.getByRole("link", { name: /^Paused/ }).click();
  await expect(page).toHaveURL(/only=paused/);
  await expect(page).toHaveURL(/name=ware/);
  await expect(page.getByText("No integrations match these filters")).toBeVisible();
  await page.getByRole("main").getByRole("link", { name: "Clear" }).first().click();
  await expect(page).toHaveURL("/integrations");
  await expect(rows(page, "Integrations")).toHaveCount(3);
});

test("an empty list has a state of its own", async ({ console: page }) => {
  await openUntil(page, "/integrations", () => expect(page.getByText("No integrations yet")).toBeVisible({ timeout: 1_000 }));
  await expectWellMade(page);
});

test("one integration shows its numbers, its verdict and its settings", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(2), {
    integration: "Picky marketplace",
    more: { rate_limit: { requests: 20, per_seconds: 1 }, max_concurrency: 3 },
  });
  await openUntil(page, `/integrations/${integration.id}`, async () => {
    await expect(tile(page, "Dead letters")).toHaveText("2", { timeout: 1_000 });
    // Waiting jobs are counted now, answers over a minute: one may be shown before the other.
    await expect(card(page, "Verdict")).toContainText("unknown attribute: price", { timeout: 1_000 });
  });
  await expect(page).toHaveTitle("Integrations · Headgate");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Picky marketplace");
  await expect(page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: app.name })).toBeVisible();
  await expect(tile(page, "Records in sync")).toHaveText("0");
  await expect(card(page, "Settings")).toContainText("20/s");
  await expect(card(page, "Settings")).toContainText(receiver.url);
  await expect(rows(page, "Recent jobs")).toHaveCount(2);
  await expect(row(page, "Recent jobs", "product sku-1")).toContainText("Failed");
  await expectWellMade(page);

  await page.getByRole("link", { name: "See failures" }).click();
  await expect(page).toHaveURL(`/failures?integration_id=${integration.id}`);
  // Causes are grouped a moment after they are counted; a page without JavaScript shows what there was when it was loaded.
  await openUntil(page, `/failures?integration_id=${integration.id}`, () =>
    expect(row(page, "Failures by cause", "unknown attribute: price")).toContainText("2", { timeout: 1_000 }),
  );
});

test("a chart shows jobs in and out, and all failed jobs are requeued from the head of the page", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(2), { integration: "Picky marketplace" });
  receiver.answer = { status: 200, body: "ok" };
  await openUntil(page, `/integrations/${integration.id}`, () => expect(tile(page, "Dead letters")).toHaveText("2", { timeout: 1_000 }));
  const flow = card(page, "In and out");
  await flow.getByText("View as table").click();
  await expect(flow.getByRole("columnheader")).toHaveText(["Time (UTC)", "accepted", "delivered", "failed attempts"]);
  await expect(flow.locator("tbody tr"), "an hour, a minute each").toHaveCount(60);
  await expectWellMade(page);
  await page.getByRole("link", { name: "Requeue dead letters" }).click();
  const question = page.getByRole("dialog", { name: "Requeue 2 dead letters?" });
  await question.getByRole("button", { name: "Requeue 2 dead letters" }).click();
  await expect(notice(page)).toHaveText("2 jobs requeued. Attempts start over.");
  await settled(api, integration, "records_in_sync", 2);
  await openUntil(page, `/integrations/${integration.id}`, () => expect(tile(page, "Dead letters")).toHaveText("0", { timeout: 1_000 }));
  await expect(page.getByRole("link", { name: "Requeue dead letters" }), "nothing is left to requeue").toHaveCount(0);
});

test("an unknown integration is not found", async ({ page, sessions }) => {
  await enter(page, "operator", sessions);
  for (const id of ["0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7", "nonsense"]) {
    const answer = await page.goto(`/integrations/${id}`);
    expect(answer?.status()).toBe(404);
    await expect(page.getByText("It does not exist")).toBeVisible();
  }
});

test("a paused integration collects jobs and sends them when it is resumed", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, products(1));
  const path = `/integrations/${integration.id}`;
  await openUntil(page, path, () => expect(page.getByRole("button", { name: "Pause" })).toBeVisible({ timeout: 1_000 }));
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(notice(page)).toHaveText("Paused. Its jobs wait.");
  await expect(page.getByRole("button", { name: "Resume" })).toBeVisible();

  await api.sendEvents(app, products(3, "later"));
  await settled(api, integration, "backlog", 3);
  expect(receiver.received, "nothing is sent meanwhile").toHaveLength(1);
  await openUntil(page, path, () => expect(tile(page, "Backlog")).toHaveText("3", { timeout: 1_000 }));
  await expect(card(page, "Verdict")).toContainText("Paused");
  await expect(card(page, "Verdict")).toContainText("3 jobs are kept until it is resumed");

  await page.getByRole("button", { name: "Resume" }).click();
  await expect(notice(page)).toHaveText("Resumed. Waiting jobs are sent again.");
  await settled(api, integration, "records_in_sync", 4);
  expect(receiver.received).toHaveLength(4);
});

test("limits are edited on the page, and an impossible one is refused", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  const path = `/integrations/${integration.id}`;
  await open(page, path);
  const form = card(page, "Edit limits");
  await form.getByLabel("Requests", { exact: true }).fill("5");
  await form.getByLabel("Window, seconds", { exact: true }).fill("2");
  await form.getByLabel("Concurrency").fill("7");
  await form.getByRole("button", { name: "Save limits" }).click();
  await expect(notice(page)).toHaveText("Limits saved. They apply from the next request.");
  expect(await api.integration(integration.id)).toMatchObject({
    rate_limit: { requests: 5, per_seconds: 2 },
    max_concurrency: 7,
  });
  await expect(card(page, "Settings")).toContainText("5 per 2 s");
  await expect(form.getByLabel("Concurrency")).toHaveValue("7");

  // The same button again leads to the same address: the page must show the new values nevertheless.
  await form.getByLabel("Concurrency").fill("9");
  await form.getByRole("button", { name: "Save limits" }).click();
  await expect.poll(async () => (await api.integration(integration.id)).max_concurrency).toBe(9);
  await expect(card(page, "Settings")).toContainText("Concurrency9");

  // The browser's own validation would stop the form, but the server decides.
  await form.locator("form").evaluate((it: HTMLFormElement) => (it.noValidate = true));
  await form.getByLabel("Requests", { exact: true }).fill("2000000");
  await form.getByLabel("Max attempts").fill("12");
  await form.getByLabel("Attempt timeout, seconds").fill("-1");
  await form.getByRole("button", { name: "Save limits" }).click();
  await expect(page.getByRole("alert")).toContainText("Nothing was changed");
  // Each fault is shown at its field; typed values are kept, valid or not.
  const requests = form.getByLabel("Requests", { exact: true });
  await expect(requests).toHaveAccessibleDescription(/Must be 1 to 1,000,000\./);
  await expect(requests).toHaveAttribute("aria-invalid", "true");
  await expect(requests).toHaveValue("2000000");
  await expect(requests).toBeFocused();
  await expect(form.getByLabel("Attempt timeout, seconds")).toHaveAccessibleDescription(/Must be 1 to 3,600\./);
  await expect(form.getByLabel("Max attempts")).toHaveValue("12");
  await expect(form.getByLabel("Max attempts")).not.toHaveAttribute("aria-invalid");
  await expectWellMade(page);
  expect(await api.integration(integration.id)).toMatchObject({ rate_limit: { requests: 5, per_seconds: 2 } });

  await open(page, path);
  await form.getByLabel("Requests", { exact: true }).fill("");
  await form.getByRole("button", { name: "Save limits" }).click();
  await expect(notice(page)).toHaveText(/Limits saved/);
  expect((await api.integration(integration.id)).rate_limit).toBeNull();
});

test("the browser's validation names the range of a field", async ({ console: page, api, app, receiver }) => {
  test.skip(!hasJavaScript(), "validation messages need a script to be read");
  const integration = await inSync(api, app, receiver, []);
  await open(page, `/integrations/${integration.id}`);
  const field = card(page, "Edit limits").getByLabel("Concurrency");
  await field.fill("0");
  await card(page, "Edit limits").getByRole("button", { name: "Save limits" }).click();
  expect(await field.evaluate((it: HTMLInputElement) => it.validity.rangeUnderflow)).toBe(true);
  await expect(notice(page)).toHaveCount(0);
});

test("a re-sync sends the whole catalog again", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, products(3));
  await open(page, `/integrations/${integration.id}`);
  await card(page, "Re-syncs").getByLabel("Scope").selectOption("full");
  await page.getByRole("button", { name: "Re-sync" }).click();
  await expect(notice(page)).toHaveText("Re-sync started.");
  await expect.poll(() => receiver.received.length).toBe(6);
  expect(receiver.received.slice(3).every((request) => request.body.full)).toBe(true);
  await openUntil(page, `/integrations/${integration.id}`, () =>
    expect(card(page, "Re-syncs").getByText("Completed")).toBeVisible({ timeout: 1_000 }),
  );
  await expect(card(page, "Re-syncs").getByText("3 of 3")).toBeVisible();
  await hydrated(page);

  await card(page, "Re-syncs").getByLabel("Scope").selectOption("full");
  await page.getByRole("button", { name: "Re-sync" }).click();
  await expect(page.getByRole("alert")).toHaveText(/Too soon after the last one: try again in \d/);
});

test("a refused re-sync and a refused hold say why at their fields", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, products(1), { more: { record_types: ["product"] } });
  await open(page, `/integrations/${integration.id}`);
  await card(page, "Re-syncs").getByLabel("Scope").selectOption("full");
  await page.getByLabel("Record type").fill("order");
  await page.getByRole("button", { name: "Re-sync" }).click();
  await expect(page.getByLabel("Record type")).toHaveAccessibleDescription("is not a type that this integration takes");
  await expect(page.getByLabel("Record type")).toHaveValue("order");
  await expect(card(page, "Re-syncs").getByLabel("Scope")).toHaveValue("full");
  await expectWellMade(page);

  const until = card(page, "Breaker").getByLabel("Hold open until (UTC)");
  await until.fill("2020-01-01T00:00");
  await page.getByRole("button", { name: "Hold open" }).click();
  await expect(until).toHaveAccessibleDescription("must be in the future, at most 30 days from now");
  await expect(until).toHaveValue("2020-01-01T00:00");
});

test("the page of an external integration has nothing about records", async ({ console: page, api, app, receiver }) => {
  await inSync(api, app, receiver, []);
  const { items } = await api.call<{ items: { id: string; integration_type: string }[] }>("GET", `/integrations?app_id=${app.id}`);
  const workers = items.find((one) => one.integration_type === "external");
  await open(page, `/integrations/${workers?.id}`);
  await expect(card(page, "Verdict")).toContainText("Caught up");
  await expect(card(page, "Recent jobs")).toContainText("POST /api/v1/jobs creates one");
  await expect(page.getByRole("main")).not.toContainText(/re-sync|never synced|records in sync/i);
  await expect(card(page, "Settings").getByText("Records", { exact: true })).toHaveCount(0);
  await expectWellMade(page);
});
