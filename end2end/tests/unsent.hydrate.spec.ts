// What somebody has entered and not sent stays, however often the page is drawn again under it.
import { type Page } from "@playwright/test";
import { failedJob, inSync, products, settled } from "../fixtures/data";
import { card, notice, row, rows } from "../fixtures/parts";
import { expect, open, openUntil, test } from "../fixtures/test";

/** Everything that an answer changes has been drawn. */
async function drawn(page: Page): Promise<void> {
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

test("a chosen option stays while somebody else changes the page, until it is sent", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, products(1));
  await open(page, `/integrations/${integration.id}`);
  const what = card(page, "Re-syncs").getByLabel("Scope");
  await what.selectOption("full");
  await api.call("PATCH", `/integrations/${integration.id}`, { name: "Depot" });
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Depot", { timeout: 20_000 });
  await drawn(page);
  await expect(what).toHaveValue("full");
  await page.getByRole("button", { name: "Re-sync" }).click();
  await expect(notice(page)).toHaveText("Re-sync started.");
  await expect(what, "as at first").toHaveValue("changed");
});

test("a choice in one form stays when another form of the page is sent", async ({ console: page, api, app, receiver }) => {
  receiver.answer = { status: 422, body: "the shop wants no ribbons" };
  const integration = await api.createIntegration(app, "Marketplace", receiver.url);
  await api.sendEvents(app, products(1));
  await settled(api, integration, "dead_letters", 1);
  await openUntil(page, `/failures?integration_id=${integration.id}`, () =>
    expect(rows(page, "Failures by cause")).toHaveCount(1, { timeout: 1_000 }),
  );
  const cause = "Their system refuses what we send";
  await row(page, "Failures by cause", "no ribbons").getByRole("link", { name: cause, exact: true }).click();
  const group = card(page, cause);
  await group.getByLabel("Snooze for").selectOption("168");
  await group.getByLabel("Note for the app").fill("We ask them why.");
  await group.getByRole("button", { name: "Publish", exact: true }).click();
  await expect(notice(page)).toHaveText("Note published for 1 integration.");
  await expect(row(page, "Affected integrations", "Marketplace")).toContainText("We ask them why");
  await drawn(page);
  await expect(group.getByLabel("Snooze for")).toHaveValue("168");
});

test("an edited payload stays while its job is changed and tried again, and is what is sent", async ({ console: page, api, app, receiver }) => {
  const { id } = await failedJob(api, app, receiver, { day: "2026-13-01" });
  await open(page, `/jobs/${id}?edit=1&revealed=1`);
  const form = card(page, "Edit and requeue");
  const field = form.getByLabel("Payload, as JSON");
  await field.fill('{"day": "2026-12-24"}');
  await api.call("POST", `/jobs/${id}/edit`, { payload: { day: "2026-14-01" } });
  await expect(form).toContainText("The payload changed in the meantime. Your text is kept", { timeout: 20_000 });
  await expect(card(page, "Payload")).toContainText("2026-14-01");
  await expect(field).toHaveValue('{"day": "2026-12-24"}');
  receiver.answer = { status: 200, body: "ok" };
  await form.getByRole("button", { name: "Requeue with this payload" }).click();
  await expect(notice(page)).toHaveText("Payload changed and job requeued. Attempts start over.");
  await expect.poll(() => receiver.received.at(-1)?.body.payload).toEqual({ day: "2026-12-24" });
});

test("a payload that nobody has edited follows its job", async ({ console: page, api, app, receiver }) => {
  const { id } = await failedJob(api, app, receiver, { day: "2026-13-01" });
  await open(page, `/jobs/${id}?edit=1&revealed=1`);
  await api.call("POST", `/jobs/${id}/edit`, { payload: { day: "2026-14-01" } });
  await expect(page.getByLabel("Payload, as JSON")).toHaveValue('{\n  "day": "2026-14-01"\n}', { timeout: 20_000 });
});

test("text that cannot be sent yet stays in a field that is made anew", async ({ console: page, api, app, receiver }) => {
  const { id } = await failedJob(api, app, receiver, { day: "2026-13-01" });
  await open(page, `/jobs/${id}?edit=1&notice=conflict`);
  const field = page.getByLabel("Payload, as JSON");
  await field.fill('{"day": ');
  await field.evaluate((it) => it.setAttribute("data-first", "yes"));
  await page.getByRole("link", { name: "Dismiss" }).click();
  await expect(page).toHaveURL(`/jobs/${id}?edit=1`);
  await expect(field, "another element").not.toHaveAttribute("data-first");
  await expect(field).toHaveValue('{"day": ');
  await expect(page.getByRole("button", { name: "Requeue with this payload" })).toBeDisabled();
});

test("another theme leaves selected rows as they are", async ({ console: page, api, app, receiver }) => {
  await api.createIntegration(app, "Alpha", receiver.url);
  const alpha = row(page, "Integrations", "Alpha");
  await openUntil(page, "/integrations", () => expect(alpha).toBeVisible({ timeout: 1_000 }));
  await alpha.getByRole("checkbox").check();
  // The list is loaded again: at once if the page is, or in its own time.
  const listed = page.waitForResponse("**/console/integrations?*");
  await page.getByRole("button", { name: "Theme: system. Change to light" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
  await listed;
  await drawn(page);
  await expect(alpha.getByRole("checkbox")).toBeChecked();
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(page.getByRole("dialog")).toContainText("Pause 1 integration?");
});
