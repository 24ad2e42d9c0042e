// A list does not move under the pointer: rows change in place, new ones wait behind a link.
import { jobOf, products, retries, settled } from "../fixtures/data";
import { card, row, rows } from "../fixtures/parts";
import { expect, open, test } from "../fixtures/test";

test("rows change in place and new jobs wait behind a link", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, products(1));
  await open(page, `/jobs?app_id=${app.id}`);
  await expect(rows(page, "Jobs")).toHaveCount(1);
  await expect(row(page, "Jobs", "product sku-1")).toContainText("To be retried");

  receiver.answer = { status: 200, body: "ok" };
  const job = await jobOf(api, integration, "sku-1");
  await api.call("POST", `/jobs/${job.id}/requeue`);
  await expect(row(page, "Jobs", "product sku-1")).toContainText("Completed");

  await api.sendEvents(app, products(2, "later"));
  const more = page.getByRole("link", { name: "2 new" });
  await expect(more).toBeVisible();
  await expect(rows(page, "Jobs")).toHaveCount(1);
  await more.click();
  await expect(rows(page, "Jobs")).toHaveCount(3);
  await expect(more).toHaveCount(0);
});

test("a job's page follows its job", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, products(1));
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs/${job.id}`);
  await expect(card(page, "Verdict")).toContainText("Waits for its 2nd attempt");
  receiver.answer = { status: 200, body: "ok" };
  await api.call("POST", `/jobs/${job.id}/requeue`);
  await expect(card(page, "Verdict")).toContainText("Completed");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Completed");
});

test("an unfolded attempt stays unfolded when another attempt is added", async ({ console: page, api, app, receiver }) => {
  receiver.answer = { status: 503, body: "the first answer" };
  const integration = await api.createIntegration(app, "Shop front", receiver.url);
  await api.sendEvents(app, products(1));
  await settled(api, integration, "to_be_retried", 1);
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs/${job.id}`);
  const attempts = card(page, "Attempts");
  await attempts.getByText("Request and response").click();
  const unfolded = attempts.locator("details[open]");
  await expect(unfolded).toContainText("the first answer");

  receiver.answer = { status: 503, body: "the second answer" };
  await api.call("POST", `/jobs/${job.id}/requeue`);
  await expect(attempts.getByRole("listitem").first()).toContainText("the second answer");
  await expect(unfolded).toHaveCount(1);
  await expect(unfolded).toContainText("the first answer");
});
