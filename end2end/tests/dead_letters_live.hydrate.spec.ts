// Dead letters update live: numbers in place, new ones behind a link, gone ones where they were; a selection freezes the page.
import { deadLetters, jobOf, products, settled } from "../fixtures/data";
import { row, rows } from "../fixtures/parts";
import { expect, open, test } from "../fixtures/test";

const TABLE = "Dead letters";

test("numbers follow, new ones wait, gone ones say so", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(2));
  await open(page, `/dead-letters?integration_id=${integration.id}`);
  await expect(rows(page, TABLE)).toHaveCount(2);
  await page.getByLabel("Search").fill("half a word");

  receiver.answer = { status: 404, body: "no such shop" };
  await api.sendEvents(app, products(1, "more"));
  await settled(api, integration, "dead_letters", 3);
  await expect(page.getByText("3 dead letters with these filters, from 2 causes")).toBeVisible({ timeout: 15_000 });
  await expect(page.getByRole("region", { name: "Dead letters by integration and cause, table" })).toContainText("no such shop");
  const more = page.getByRole("link", { name: "1 new" });
  await expect(more).toBeVisible();
  await expect(rows(page, TABLE)).toHaveCount(2);

  receiver.answer = { status: 200, body: "ok" };
  await api.requeue(await jobOf(api, integration, "sku-1"));
  await settled(api, integration, "dead_letters", 2);
  await expect(row(page, TABLE, "product sku-1")).toContainText("requeued or purged", { timeout: 15_000 });
  await expect(row(page, TABLE, "product sku-2")).not.toContainText("requeued or purged");
  await expect(page.getByLabel("Search"), "typed text stays").toHaveValue("half a word");

  await more.click();
  await expect(row(page, TABLE, "product more-1")).toBeVisible();
  await expect(rows(page, TABLE)).toHaveCount(2);
  await expect(more).toHaveCount(0);
});

test("nothing changes while a row is selected", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(2));
  await open(page, `/dead-letters?integration_id=${integration.id}`);
  const box = row(page, TABLE, "product sku-2").getByRole("checkbox");
  await box.check();
  await expect(page.getByText(/^Frozen/)).toBeVisible();
  receiver.answer = { status: 200, body: "ok" };
  await api.requeue(await jobOf(api, integration, "sku-1"));
  await settled(api, integration, "dead_letters", 1);
  await expect(page.getByText(/^Frozen · ([5-9]|\d\d) s$/), "longer than a list waits").toBeVisible();
  await expect(row(page, TABLE, "product sku-1")).not.toContainText("requeued or purged");
  await expect(box).toBeChecked();
  await box.uncheck();
  await expect(row(page, TABLE, "product sku-1")).toContainText("requeued or purged", { timeout: 15_000 });
});
