// Many integrations at once: ordered, grouped, selected, paused, resumed and limited.
import { collecting, inSync, products, retries } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { notice, row, rows } from "../fixtures/parts";
import { enter, expect, hasJavaScript, open, openUntil, test } from "../fixtures/test";

test("each column sorts, and the same one again reverses the order", async ({ console: page, api, app, receiver }) => {
  await collecting(api, app, receiver, products(2), { integration: "Alpha" });
  await api.createIntegration(app, "Beta", receiver.url);
  await openUntil(page, "/integrations?sort=backlog", () =>
    expect(row(page, "Integrations", "Alpha")).toContainText("2", { timeout: 1_000 }),
  );
  await expect(rows(page, "Integrations").first()).toContainText("Alpha");
  await expect(page.getByRole("columnheader", { name: /Backlog/ })).toHaveAttribute("aria-sort", "descending");
  await page.getByRole("columnheader", { name: /^Integration/ }).getByRole("link").click();
  await expect(page).toHaveURL(/sort=name/);
  await expect(rows(page, "Integrations").first()).toContainText("Alpha");
  await page.getByRole("columnheader", { name: /^Integration/ }).getByRole("link").click();
  await expect(page).toHaveURL(/dir=reverse/);
  await expect(page.getByRole("columnheader", { name: /^Integration/ })).toHaveAttribute("aria-sort", "descending");
  await expect(rows(page, "Integrations").last()).toContainText("Alpha");
  await expectWellMade(page);
});

test("integrations are grouped by app and by type, and a group leads to its integrations", async ({ console: page, api, app, receiver }) => {
  const other = await api.createApp();
  try {
    await collecting(api, app, receiver, products(3), { integration: "Alpha" });
    await api.createIntegration(other, "Beta", receiver.url, { integration_type: "rest" });
    await openUntil(page, "/integrations?group=app", () =>
      expect(row(page, "Groups", app.name)).toContainText("3", { timeout: 1_000 }),
    );
    await expect(rows(page, "Groups")).toHaveCount(2);
    await expectWellMade(page);
    await page.getByLabel("Group by").selectOption("type");
    await page.getByRole("button", { name: "Filter" }).click();
    await expect(row(page, "Groups", "rest")).toBeVisible();
    await row(page, "Groups", "rest").getByRole("link").click();
    await expect(page).toHaveURL(/type=rest/);
    await expect(rows(page, "Integrations")).toHaveCount(1);
    await expect(rows(page, "Integrations")).toContainText("Beta");
  } finally {
    await api.deleteApp(other);
  }
});

test("selected integrations are paused after a confirmation that names them, and resumed", async ({ console: page, api, app, receiver }) => {
  const alpha = await api.createIntegration(app, "Alpha", receiver.url);
  const beta = await api.createIntegration(app, "Beta", receiver.url);
  const gamma = await api.createIntegration(app, "Gamma", receiver.url);
  await openUntil(page, "/integrations?name=a&sort=name", () => expect(row(page, "Integrations", "Gamma")).toBeVisible({ timeout: 1_000 }));
  await row(page, "Integrations", "Alpha").getByRole("checkbox").check();
  await row(page, "Integrations", "Gamma").getByRole("checkbox").check();
  await page.getByRole("button", { name: "Pause" }).click();
  const question = page.getByRole("dialog");
  await expect(question).toContainText("Pause 2 integrations?");
  await expect(question).toContainText("Alpha, Gamma.");
  await expectWellMade(page);
  await question.getByRole("button", { name: "Pause 2 integrations" }).click();
  await expect(notice(page)).toHaveText("2 integrations paused. Their jobs wait.");
  await expect(page, "the filter is kept").toHaveURL(/name=a&sort=name/);
  for (const [integration, state] of [[alpha, "paused"], [beta, "active"], [gamma, "paused"]] as const) {
    expect((await api.integration(integration.id)).state, integration.name).toBe(state);
  }
  const log = await api.call<{ items: unknown[] }>("GET", `/audit-log?action=integration.pause&app_id=${app.id}`);
  expect(log.items).toHaveLength(2);

  await openUntil(page, "/integrations?only=paused", () => expect(rows(page, "Integrations")).toHaveCount(2, { timeout: 1_000 }));
  await page.getByRole("link", { name: "Resume 2" }).click();
  await question.getByRole("button", { name: "Resume 2 integrations" }).click();
  await expect(notice(page)).toHaveText("2 integrations resumed. Waiting jobs are sent again.");
  expect((await api.integration(alpha.id)).state).toBe("active");
});

test("all that match get one limit; an empty selection is reported", async ({ console: page, api, app, receiver }) => {
  const alpha = await api.createIntegration(app, "Shelf one", receiver.url);
  const beta = await api.createIntegration(app, "Shelf two", receiver.url);
  const other = await api.createIntegration(app, "Elsewhere", receiver.url);
  await openUntil(page, "/integrations?name=shelf", () => expect(rows(page, "Integrations")).toHaveCount(2, { timeout: 1_000 }));
  await page.getByRole("link", { name: "Limit 2" }).click();
  const question = page.getByRole("dialog");
  await question.getByLabel("Requests", { exact: true }).fill("9");
  await question.getByLabel("Window, seconds", { exact: true }).fill("3");
  await question.getByRole("button", { name: "Set limit of 2 integrations" }).click();
  await expect(notice(page)).toHaveText("Limits of 2 integrations saved. They apply from the next request.");
  for (const id of [alpha.id, beta.id]) {
    expect((await api.integration(id)).rate_limit).toMatchObject({ requests: 9, per_seconds: 3 });
  }
  expect((await api.integration(other.id)).rate_limit).toBeNull();

  await open(page, "/integrations");
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(question).toContainText("Nothing selected");
  await question.getByRole("link", { name: "Back" }).click();
  await expect(question).toHaveCount(0);
});

test("the state of each is in words, and numbers update in place", async ({ console: page, api, app, receiver }) => {
  test.skip(!hasJavaScript(), "without a script pages do not update");
  await retries(api, app, receiver, products(2), { integration: "Marketplace" });
  await inSync(api, app, receiver, products(1, "fine"), { integration: "Warehouse" });
  await openUntil(page, "/integrations", () =>
    expect(row(page, "Integrations", "Marketplace")).toContainText(/High failure rate|Failing|Retrying/, { timeout: 1_000 }),
  );
  const paused = await api.createIntegration(app, "Late", receiver.url);
  // The new one waits behind a link.
  await expect(page.getByRole("link", { name: /more match(es)?: show/ })).toBeVisible({ timeout: 20_000 });
  await expect(row(page, "Integrations", paused.name)).toHaveCount(0);
  await page.getByRole("link", { name: /more match(es)?: show/ }).click();
  await expect(row(page, "Integrations", paused.name)).toBeVisible();
});

test("without the permission to configure nothing can be selected", async ({ page, sessions, api, app, receiver }) => {
  await api.createIntegration(app, "Alpha", receiver.url);
  await enter(page, "support", sessions);
  await openUntil(page, "/integrations", () => expect(rows(page, "Integrations").first()).toBeVisible({ timeout: 1_000 }));
  await expect(page.getByRole("checkbox")).toHaveCount(0);
  await expect(page.getByRole("link", { name: /^(Pause|Resume|Limit) \d/ })).toHaveCount(0);
  await page.goto("/integrations?confirm=pause");
  await expect(page.getByText("Not allowed for your role")).toBeVisible();
});
