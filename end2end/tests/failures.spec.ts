// Failures by cause: one line for all jobs of a cause, retry, snooze, fix, and a note for the app.
import { products, settled } from "../fixtures/data";
import type { Api, App, Integration } from "../fixtures/api";
import { expectWellMade } from "../fixtures/page_checks";
import { card, notice, row, rows } from "../fixtures/parts";
import type { Receiver } from "../fixtures/receiver";
import { enter, expect, open, openUntil, test } from "../fixtures/test";

const TABLE = "Failures by cause";

/** An integration whose system rejects each change with `reason`. Groups outlive tests, so each test has its own reason. */
async function refused(api: Api, app: App, receiver: Receiver, reason: string, n: number, name = "Marketplace"): Promise<Integration> {
  receiver.answer = { status: 422, body: reason };
  const integration = await api.createIntegration(app, name, receiver.url);
  await api.sendEvents(app, products(n));
  await settled(api, integration, "dead_letters", n);
  return integration;
}

test("without failures the page says so", async ({ console: page, app }) => {
  await open(page, `/failures?app_id=${app.id}`);
  await expect(page).toHaveTitle("Failures · Headgate");
  await expect(page.getByText("No group with these filters is in this state")).toBeVisible();
  await expectWellMade(page);
});

test("variable parts of an error make no group of their own; a group is retried at once", async ({ console: page, api, app, receiver }) => {
  const integration = await refused(api, app, receiver, "sku 17 has no colour", 2);
  receiver.answer = { status: 422, body: "sku 4711 has no colour" };
  await api.sendEvents(app, products(2, "more"));
  await settled(api, integration, "dead_letters", 4);
  await openUntil(page, `/failures?integration_id=${integration.id}`, () =>
    expect(rows(page, TABLE).first()).toContainText("4", { timeout: 1_000 }),
  );
  await expect(rows(page, TABLE)).toHaveCount(1);
  const group = row(page, TABLE, "has no colour");
  await expect(group).toContainText("Their system refuses what we send");
  await expect(group).toContainText("Open");
  await expect(group).toContainText("1 integration of 1 app");
  await expectWellMade(page);

  receiver.answer = { status: 200, body: "ok" };
  await group.getByRole("link", { name: /^Retry/ }).click();
  const question = page.getByRole("dialog", { name: "Retry 4 jobs?" });
  await expect(question).toBeVisible();
  await expectWellMade(page);
  await question.getByRole("button", { name: "Retry 4 jobs" }).click();
  await expect(notice(page)).toHaveText("4 jobs requeued. Attempts start over.");
  await expect(page).toHaveURL(new RegExp(`integration_id=${integration.id}`));
  await settled(api, integration, "records_in_sync", 4);
  await openUntil(page, `/failures?integration_id=${integration.id}&state=over`, () =>
    expect(rows(page, TABLE)).toHaveCount(1, { timeout: 1_000 }),
  );
});

test("a group leads to its jobs, is snoozed, fixed, and gets a note for the app", async ({ console: page, api, app, receiver }) => {
  const integration = await refused(api, app, receiver, "the shop wants no weights", 2);
  const list = `/failures?integration_id=${integration.id}`;
  await openUntil(page, list, () => expect(rows(page, TABLE)).toHaveCount(1, { timeout: 1_000 }));
  await row(page, TABLE, "no weights").getByRole("link", { name: "Their system refuses what we send", exact: true }).click();
  const whole = card(page, "Their system refuses what we send");
  await expect(whole).toContainText("correct the record at its source");
  await expect(row(page, "Affected integrations", "Marketplace")).toBeVisible();
  await expectWellMade(page);

  await whole.getByLabel("Note for the app").fill("Your shop takes no weights any more. We ask them why.");
  await whole.getByRole("button", { name: "Publish", exact: true }).click();
  await expect(notice(page)).toHaveText("Note published for 1 integration.");
  await expect(row(page, "Affected integrations", "Marketplace")).toContainText("We ask them why");
  const status = await api.status(integration);
  expect((status as unknown as { notes: { text: string }[] }).notes[0]?.text).toContain("We ask them why");

  await card(page, "Their system refuses what we send").getByRole("button", { name: "Snooze" }).click();
  await expect(notice(page)).toContainText("Snoozed.");
  await expect(card(page, "Their system refuses what we send")).toContainText("Snoozed until");
  await expect(rows(page, TABLE), "a snoozed group is not open").toHaveCount(0);
  await card(page, "Their system refuses what we send").getByRole("button", { name: "Reopen" }).click();
  await expect(notice(page)).toHaveText("Reopened.");
  await card(page, "Their system refuses what we send").getByRole("button", { name: "Mark fixed" }).click();
  await expect(notice(page)).toContainText("Marked as fixed.");
  expect((await api.status(integration)) as object).not.toHaveProperty("notes");

  // It was not fixed: the next failure opens it again.
  await api.sendEvents(app, products(1, "other"));
  await settled(api, integration, "dead_letters", 3);
  await openUntil(page, list, () => expect(rows(page, TABLE)).toContainText("Came back", { timeout: 1_000 }));
  await row(page, TABLE, "no weights").getByRole("link", { name: "Their system refuses what we send", exact: true }).click();
  await card(page, "Their system refuses what we send").getByRole("link", { name: "Jobs: 3" }).click();
  await expect(page).toHaveURL(/\/jobs\?.*fingerprint=/);
  await expect(page.getByRole("main").getByText("3 jobs shown")).toBeVisible();
});

test("a growing failure is on the overview, and the navigation counts open groups", async ({ console: page, api, app, receiver }) => {
  const integration = await refused(api, app, receiver, "the shop wants no stars", 24, "Galaxy");
  await openUntil(page, `/failures?integration_id=${integration.id}`, () =>
    expect(rows(page, TABLE)).toHaveCount(1, { timeout: 1_000 }),
  );
  const attention = card(page, "Needs attention");
  const entry = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: /^Failures/ });
  await openUntil(page, "/", async () => {
    await expect(attention).toContainText("Growing", { timeout: 1_000 });
    await expect(entry).toHaveText(/Failures\s*1$/, { timeout: 1_000 });
  });
  await expect(attention).toContainText("Their system refuses what we send (422)");
  await expect(attention).toContainText(/Galaxy: about \d+ failed attempts? in the last hour, about 0 in the hour before/);
  await expectWellMade(page);
  await attention.getByRole("link", { name: /^See group/ }).first().click();
  await expect(page).toHaveURL(/\/failures\?group=/);
  await expect(page.getByText("1 cause is open")).toBeVisible();
  await expect(card(page, "Their system refuses what we send")).toContainText("the shop wants no stars");
  // A fixed group is no longer counted.
  await card(page, "Their system refuses what we send").getByRole("button", { name: "Mark fixed" }).click();
  await openUntil(page, "/", () => expect(entry).toHaveText(/^\s*Failures\s*$/, { timeout: 1_000 }));
});

test("an auditor reads and changes nothing", async ({ page, sessions, api, app, receiver }) => {
  const integration = await refused(api, app, receiver, "the shop wants no lengths", 1);
  await enter(page, "auditor", sessions);
  await openUntil(page, `/failures?integration_id=${integration.id}`, () =>
    expect(rows(page, TABLE)).toHaveCount(1, { timeout: 1_000 }),
  );
  await expect(page.getByRole("link", { name: /^Retry/ })).toHaveCount(0);
  await row(page, TABLE, "no lengths").getByRole("link").first().click();
  await expect(row(page, "Affected integrations", "Marketplace")).toBeVisible();
  await expect(page.getByRole("main").getByRole("button", { name: /Snooze|Mark fixed|Publish/ })).toHaveCount(0);
});
