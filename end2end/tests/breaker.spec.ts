// The circuit breaker of an integration: held open by hand, probed, closed, and shown on other pages.
import { inSync, products, settled } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { card, notice, row } from "../fixtures/parts";
import { enter, expect, open, openUntil, test } from "../fixtures/test";

test("an operator holds a circuit open, probes it and closes it", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  const path = `/integrations/${integration.id}`;
  await open(page, path);
  const panel = card(page, "Breaker");
  await expect(panel).toContainText("Breaker closed");
  await expect(panel.getByRole("button", { name: "Probe now" })).toHaveCount(0);
  await expect(panel.getByRole("button", { name: "Close" })).toHaveCount(0);

  // The field's default is an hour from now.
  await panel.getByRole("button", { name: "Hold open" }).click();
  await expect(notice(page)).toHaveText("Held open. Its jobs wait until then.");
  await expect(panel).toContainText("Held open");
  await expect(panel).toContainText("held open by hand until");
  await api.sendEvents(app, products(3));
  await settled(api, integration, "backlog", 3);
  expect(receiver.received, "nothing is sent meanwhile").toHaveLength(0);
  await openUntil(page, path, () => expect(card(page, "Verdict")).toContainText("3 jobs are waiting", { timeout: 1_000 }));
  await expectWellMade(page);

  await openUntil(page, "/", () => expect(page.getByText("Breaker open since").first()).toBeVisible({ timeout: 1_000 }));
  await open(page, "/integrations");
  await expect(row(page, "Integrations", integration.name)).toContainText("Held open");
  const [job] = await api.jobs(`integration_id=${integration.id}`);
  await open(page, `/jobs/${job.id}`);
  await expect(card(page, "Verdict")).toContainText("The breaker is open: held open by hand until");

  await open(page, path);
  await expect(panel.getByRole("button", { name: "Probe now" })).toBeVisible();
  // The head of the page has the same button.
  await page.getByRole("button", { name: "Probe now" }).first().click();
  await expect(notice(page)).toHaveText("Probing. A few jobs go through as a test.");
  await settled(api, integration, "records_in_sync", 3);
  expect(receiver.received).toHaveLength(3);
  await openUntil(page, path, () => expect(panel).toContainText("Ramping up", { timeout: 1_000 }));
  await panel.getByRole("button", { name: "Close" }).click();
  await expect(notice(page)).toHaveText("Closed. Waiting jobs are sent again.");
  await expect(panel).toContainText("Breaker closed");
  const changes = panel.getByRole("list", { name: "Recent breaker changes" }).getByRole("listitem");
  await expect(changes).toHaveText([
    /Closed: closed by hand, by operator/,
    /Ramping up: 3 probes succeeded/,
    /Half-open: requested by hand: 3 probes decide, by operator/,
    /Open: held open by hand until .+, by operator/,
  ]);
});

test("a hold in the past is refused", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  await open(page, `/integrations/${integration.id}`);
  const panel = card(page, "Breaker");
  await panel.getByLabel("Hold open until (UTC)").fill("2020-01-01T00:00");
  await panel.getByRole("button", { name: "Hold open" }).click();
  await expect(page.getByRole("alert")).toContainText("Nothing was changed");
  await expect(panel).toContainText("Breaker closed");
});

test("without the permission to configure the breaker has no buttons", async ({ page, sessions, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  await enter(page, "support", sessions);
  await open(page, `/integrations/${integration.id}`);
  const panel = card(page, "Breaker");
  await expect(panel).toContainText("Breaker closed");
  await expect(panel.getByRole("button")).toHaveCount(0);
});
