// Dead letters: filter, select, requeue, purge. Purging asks first and names the count.
import { deadLetters, products, settled } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { card, notice, row, rows } from "../fixtures/parts";
import { expect, hydrated, open, openUntil, test } from "../fixtures/test";

const GRID = "Dead letters by integration and cause";

test("an empty list says that there are no dead letters", async ({ console: page, app }) => {
  await open(page, "/dead-letters");
  await expect(page).toHaveTitle("Dead letters · Headgate");
  await expect(page.getByText("No dead letters", { exact: true })).toBeVisible();
  await expect(page.getByRole("link", { name: /Purge/ })).toHaveCount(0);
  await expectWellMade(page);
  expect(app.id).toBeTruthy();
});

test("the grid counts by integration and cause, and a number leads to its dead letters", async ({ console: page, api, app, receiver }) => {
  const picky = await deadLetters(api, app, receiver, products(2), { integration: "Picky" });
  await api.pause(picky);
  receiver.answer = { status: 404, body: "no such shop" };
  const lost = await api.createIntegration(app, "Lost", receiver.url);
  await api.sendEvents(app, products(1, "other"));
  await settled(api, lost, "dead_letters", 1);

  await open(page, "/dead-letters?limit=1");
  await expect(page.getByText("3 dead letters from 2 causes")).toBeVisible();
  const grid = page.getByRole("region", { name: `${GRID}, table` });
  await expect(rows(page, GRID)).toHaveText([/Picky.*2.*0.*2$/, /Lost.*0.*1.*1$/, /All integrations.*2.*1.*3$/]);
  await expect(grid.getByRole("rowheader", { name: /Lost/ })).toBeVisible();
  await expect(grid.getByRole("columnheader", { name: /no such shop/ })).toBeVisible();
  await expectWellMade(page);

  await grid.getByRole("link", { name: /^1 dead letter of Lost: 404/ }).click();
  await expect(page).toHaveURL(/limit=1.*integration_id=.*fingerprint=/);
  await expect(page.getByText("1 dead letter with these filters, from 1 cause")).toBeVisible();
  await expect(rows(page, "Dead letters")).toHaveCount(1);
  await expect(row(page, "Dead letters", "product other-1")).toBeVisible();
  await expect(grid, "no grid for a single number").toHaveCount(0);
  await page.getByRole("link", { name: /^with cause .*, remove$/ }).click();
  await expect(page).not.toHaveURL(/fingerprint=/);
  await page.getByRole("link", { name: "for Lost, remove" }).click();
  await expect(page).not.toHaveURL(/integration_id=/);

  // All of a cause, then its explanation.
  await grid.getByRole("link", { name: /^2 dead letters of 400.*, all integrations$/ }).click();
  await expect(page.getByText("2 dead letters with these filters, from 1 cause")).toBeVisible();
  await open(page, "/dead-letters");
  await grid.getByRole("columnheader", { name: /no such shop/ }).getByRole("link").click();
  await expect(page).toHaveURL(/\/failures\?group=/);
});

test("the rest of the grid is counted, and a link leads to it", async ({ console: page, api, app, receiver }) => {
  const reasons = ["no colour", "no size", "no weight", "no title", "no price", "no image", "no stock", "no brand"];
  for (const [n, reason] of reasons.entries()) {
    receiver.answer = { status: 422, body: reason };
    const integration = await api.createIntegration(app, `Shop ${n}`, receiver.url);
    await api.sendEvents(app, products(1, `sku-${n}`));
    await settled(api, integration, "dead_letters", 1);
    await api.pause(integration);
  }
  const grid = page.getByRole("region", { name: `${GRID}, table` });
  await open(page, "/dead-letters");
  await expect(grid.getByRole("columnheader")).toHaveCount(1 + 6 + 2);
  await expect(rows(page, GRID).last()).toHaveText(/^All integrations( 1){6} 2 8$|All integrations1{6}28$/);
  await expectWellMade(page);
  await grid.getByRole("link", { name: "2 other causes" }).click();
  await expect(page).toHaveURL(/causes_after=/);
  await expect(grid.getByRole("columnheader")).toHaveCount(1 + 2 + 2);
  await grid.getByRole("link", { name: "6 other causes" }).click();
  await expect(page).not.toHaveURL(/causes_after=/);
  await expect(grid.getByRole("columnheader")).toHaveCount(1 + 6 + 2);
});

test("filters work, and a dead letter leads to its job", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(3));
  await open(page, "/dead-letters");
  await page.getByLabel("Search").fill("sku-2");
  await page.getByLabel("Error contains").fill("400");
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(page).toHaveURL(/q=sku-2/);
  await expect(rows(page, "Dead letters")).toHaveCount(1);
  await page.getByRole("link", { name: "product sku-2" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Failed");
  await expect(card(page, "Verdict")).toContainText("400 Bad Request: unknown attribute: price. Dead-lettered");
  await expect(card(page, "Verdict")).toContainText("requeue it once the cause is fixed");
  await expect(card(page, "Facts")).toContainText("until it is requeued or purged");
  await expect(card(page, "Attempts")).toContainText("unknown attribute: price");
  await expectWellMade(page);
  expect((await api.status(integration)).dead_letters).toBe(3);
});

test("selected ones are requeued; the others and the filters stay", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(3));
  receiver.answer = { status: 200, body: "ok" };
  await open(page, "/dead-letters?error=400");
  await row(page, "Dead letters", "product sku-1").getByRole("checkbox").check();
  await row(page, "Dead letters", "product sku-3").getByRole("checkbox").check();
  await page.getByRole("button", { name: "Requeue" }).click();
  await expect(notice(page)).toHaveText("2 jobs requeued. Attempts start over.");
  await expect(page).toHaveURL(/error=400/);
  await expect(rows(page, "Dead letters")).toHaveCount(1);
  await expect(row(page, "Dead letters", "product sku-2").getByRole("checkbox")).not.toBeChecked();
  await settled(api, integration, "records_in_sync", 2);
});

test("all that match are requeued after a confirmation", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(4));
  receiver.answer = { status: 200, body: "ok" };
  await open(page, "/dead-letters?error=400&record_type=product");
  await page.getByRole("link", { name: "Requeue all that match" }).click();
  const question = page.getByRole("dialog", { name: "Requeue 4 dead letters?" });
  await expect(question).toBeVisible();
  await expectWellMade(page);
  await question.getByRole("button", { name: "Requeue 4 dead letters" }).click();
  await expect(notice(page)).toHaveText("4 jobs requeued. Attempts start over.");
  await expect(page).toHaveURL(/error=400&record_type=product/);
  await expect(page.getByText("No dead letters match these filters")).toBeVisible();
  await settled(api, integration, "records_in_sync", 4);
});

test("purging asks first, names the count and can be refused", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(3));
  await open(page, "/dead-letters?error=400");
  await page.getByRole("link", { name: "Purge all that match" }).click();
  const question = page.getByRole("dialog", { name: "Purge 3 dead letters?" });
  await expect(question).toContainText("can be restored for 24 hours");
  await expectWellMade(page);
  await question.getByRole("link", { name: "Back" }).click();
  await expect(question).toHaveCount(0);
  await expect(page).toHaveURL("/dead-letters?error=400");
  expect((await api.status(integration)).dead_letters).toBe(3);

  await page.getByRole("link", { name: "Purge all that match" }).click();
  await question.getByRole("button", { name: "Purge 3 dead letters" }).click();
  await expect(notice(page)).toHaveText("3 dead letters purged.");
  await expect(page).toHaveURL(/error=400/);
  expect((await api.status(integration)).dead_letters).toBe(0);
  const log = await api.call<{ items: { action: string; actor_kind: string; after: unknown }[] }>("GET", "/audit-log");
  const purges = log.items.filter(({ action, actor_kind }) => action === "dead_letter.bulk_purge" && actor_kind === "user");
  expect(purges.map(({ after }) => after)).toContainEqual({ matched: 3, operation_id: expect.any(String) });
});

test("only the selected ones are purged", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(3));
  await open(page, "/dead-letters?error=400");
  await row(page, "Dead letters", "product sku-2").getByRole("checkbox").check();
  await page.getByRole("button", { name: "Purge" }).click();
  const question = page.getByRole("dialog", { name: "Purge 1 dead letter?" });
  await expect(question).toBeVisible();
  await hydrated(page);
  await question.getByRole("button", { name: "Purge 1 dead letter" }).click();
  await expect(notice(page)).toHaveText("1 dead letter purged.");
  await expect(page).toHaveURL(/error=400/);
  await expect(rows(page, "Dead letters")).toHaveCount(2);
  expect((await api.status(integration)).dead_letters).toBe(2);
});

test("a question whose count has grown meanwhile changes nothing", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(1));
  await open(page, "/dead-letters?confirm=purge");
  const question = page.getByRole("dialog", { name: "Purge 1 dead letter?" });
  await expect(question).toBeVisible();
  await api.sendEvents(app, products(2, "late"));
  await settled(api, integration, "dead_letters", 3);
  await question.getByRole("button", { name: "Purge 1 dead letter" }).click();
  await expect(page.getByRole("alert")).toContainText("More match now than you confirmed. Nothing was changed");
  expect((await api.status(integration)).dead_letters).toBe(3);
});

test("more than a hundred are processed in the background", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(120));
  receiver.answer = { status: 200, body: "ok" };
  await open(page, `/dead-letters?integration_id=${integration.id}`);
  await page.getByRole("link", { name: "Requeue all that match" }).click();
  const question = page.getByRole("dialog", { name: "Requeue 120 dead letters?" });
  await question.getByLabel("Start delay, seconds").fill("0");
  await question.getByRole("button", { name: "Requeue 120 dead letters" }).click();
  await expect(notice(page)).toHaveText("120 are being processed in the background.");
  await settled(api, integration, "records_in_sync", 120);
});
