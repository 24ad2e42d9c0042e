// The records page: finds whatever is typed, under each interpretation, with every job about it on one time line.
import { deadLetters, inSync, jobOf, products, retries } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { card, notice } from "../fixtures/parts";
import { enter, expect, open, test } from "../fixtures/test";

test("the search box says what it accepts, and keeps the search", async ({ console: page }) => {
  await open(page, "/records");
  await expect(page).toHaveTitle("Records · Headgate");
  await expect(page.getByText("What are you looking for?")).toBeVisible();
  await expectWellMade(page);
  await page.getByRole("searchbox").fill("nobody's 4711");
  await page.getByRole("button", { name: "Find" }).click();
  await expect(page).toHaveURL(/q=nobody/);
  await expect(page.getByText("Nothing matches “nobody's 4711”.")).toBeVisible();
  await expect(page.getByRole("searchbox")).toHaveValue("nobody's 4711");
  await expectWellMade(page);
});

test("a record shows its state at each integration, and every job on one time line", async ({ console: page, api, app, receiver }) => {
  await inSync(api, app, receiver, products(1), { integration: "Warehouse" });
  const failing = await deadLetters(api, app, receiver, [], { integration: "Marketplace" });
  await api.sendEvents(app, [{ id: "sku-1", attributes: { price: 99 } }]);
  await expect.poll(async () => (await api.status(failing)).dead_letters).toBe(1);
  await open(page, "/records?q=product+sku-1");
  await expect(page.getByRole("main")).toContainText("“product sku-1” is the id of a record.");
  const record = card(page, `product sku-1 · ${app.name}`);
  await expect(record).toContainText("version 2");
  await expect(record).toContainText("Never sent: failed");
  await expect(record).toContainText("Behind, at version 1: failed");
  const line = card(page, "Timeline").getByRole("listitem");
  await expect(line).toHaveCount(3);
  await expect(line.first()).toContainText("Dead-lettered");
  await expect(line.first()).toContainText("Last error: 400");
  await expect(line.last()).toContainText("Completed");
  await expectWellMade(page);
});

test("an ambiguous text is shown under each interpretation, one of which can be chosen", async ({ console: page, api, app, receiver }) => {
  await inSync(api, app, receiver, [{ id: "sku-1" }]);
  await api.call("POST", "/jobs", { app_id: app.id, job_type: "export", correlation_id: "sku-1" });
  await open(page, "/records?q=sku-1");
  await expect(page.getByRole("main")).toContainText("“sku-1” is the id of a record and a correlation id.");
  await expect(card(page, "Timeline").getByRole("listitem")).toHaveCount(2);
  await page.getByRole("navigation", { name: "Read as" }).getByRole("link", { name: "Correlation id" }).click();
  await expect(page).toHaveURL(/as=correlation/);
  await expect(card(page, "Timeline").getByRole("listitem")).toHaveCount(1);
  await expect(page.getByRole("searchbox")).toHaveValue("sku-1");
  await expectWellMade(page);
});

test("an app's name leads to its integrations and newest failures", async ({ console: page, api, app, receiver }) => {
  await deadLetters(api, app, receiver, products(2));
  await open(page, `/records?q=${encodeURIComponent(app.name.toLowerCase())}`);
  const found = card(page, app.name);
  await expect(found).toContainText("product sku-1");
  await expect(found).toContainText("400");
  await expectWellMade(page);
  await found.getByRole("link", { name: "All its jobs" }).click();
  await expect(page).toHaveURL(`/jobs?app_id=${app.id}`);
});

test.describe("support", () => {
  test.use({ role: "support" });

  test("from a record's id to the cause, a retry, and delivered, in five clicks", async ({ console: page, api, app, receiver }) => {
    const integration = await retries(api, app, receiver, [{ id: "4711" }]);
    const job = await jobOf(api, integration, "4711");
    await open(page, "/");
    let clicks = 0;
    const click = async (name: RegExp | string, role: "link" | "button", within = page.getByRole("main")) => {
      clicks += 1;
      await within.getByRole(role, { name }).first().click();
    };
    await click("Records", "link", page.getByRole("navigation", { name: "Main" }));
    await page.getByRole("searchbox").fill("4711");
    await click("Find", "button");
    await expect(card(page, "Timeline")).toContainText("503");
    await click("product 4711", "link", card(page, "Timeline"));
    await expect(page).toHaveURL(`/jobs/${job.id}`);
    await expect(card(page, "Verdict")).toContainText("Last attempt: 503 Service Unavailable: upstream is out of order.");
    // The external system is repaired meanwhile.
    receiver.answer = { status: 200, body: "ok" };
    await click("Requeue", "button");
    await expect(notice(page)).toHaveText("1 job requeued. Attempts start over.");
    await expect.poll(async () => (await jobOf(api, integration, "4711")).status).toBe("completed");
    await page.reload();
    await expect(card(page, "Verdict")).toContainText("Completed");
    expect(clicks).toBeLessThanOrEqual(5);
  });
});

test("a search that cannot be read is reported and not ignored", async ({ page, sessions }) => {
  await enter(page, "auditor", sessions);
  const answer = await page.goto("/records?q=1&as=order");
  expect(answer?.status()).toBe(422);
  await expect(page.getByText("This URL is not valid")).toBeVisible();
});
