// Jobs: filters are in the address and stay after an action; one job with its attempts and why it waits.
import { deadLetters, inSync, jobOf, products, retries, settled } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { card, notice, row, rows } from "../fixtures/parts";
import { enter, expect, hydrated, open, openUntil, test } from "../fixtures/test";

// Finished jobs outlive their app, so these lists are filtered by the journey's app.

test("a list without matches leads back to all jobs", async ({ console: page, app }) => {
  await open(page, `/jobs?app_id=${app.id}`);
  await expect(page).toHaveTitle("Jobs · Headgate");
  await expect(page.getByText("No jobs match these filters")).toBeVisible();
  await expectWellMade(page);
  await page.getByRole("main").getByRole("link", { name: "Clear" }).first().click();
  await expect(page).toHaveURL("/jobs");
});

test("the list is filtered by state, text, integration and error, all in the address", async ({ console: page, api, app, receiver }) => {
  const rejecting = await deadLetters(api, app, receiver, products(2, "bad"), { integration: "Rejecting" });
  await api.pause(rejecting);
  await inSync(api, app, receiver, products(2, "good"), { integration: "Accepting" });
  await openUntil(page, `/jobs?app_id=${app.id}`, () =>
    expect(page.getByLabel("Integration", { exact: true }).getByRole("option", { name: /Accepting/ })).toBeAttached({ timeout: 1_000 }),
  );
  // Two dead letters, two completed jobs, and two that wait at the paused integration.
  await expect(rows(page, "Jobs")).toHaveCount(6);
  await expectWellMade(page);

  const states = page.getByRole("navigation", { name: "State" });
  await states.getByRole("link", { name: "Failed" }).click();
  await expect(page).toHaveURL(/status=failed/);
  await expect(rows(page, "Jobs")).toHaveCount(2);
  await expect(states.getByRole("link", { name: "Failed" })).toHaveAttribute("aria-current", "page");
  await expect(row(page, "Jobs", "product bad-1")).toContainText("400");
  await hydrated(page);

  await page.getByLabel("Search").fill("bad-2");
  await page.getByLabel("Error contains").fill("400");
  await page.getByLabel("Integration", { exact: true }).selectOption({ label: `Rejecting · ${app.name}` });
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(page).toHaveURL(new RegExp(`integration_id=${rejecting.id}`));
  await expect(page).toHaveURL(/status=failed/);
  await expect(page).toHaveURL(/q=bad-2/);
  await expect(rows(page, "Jobs")).toHaveCount(1);
  await expect(page.getByLabel("Search")).toHaveValue("bad-2");

  await page.reload();
  await expect(rows(page, "Jobs")).toHaveCount(1);
  await hydrated(page);
  await page.getByRole("link", { name: "Clear" }).click();
  await expect(page).toHaveURL("/jobs");
});

test("filters read as a sentence, and each part of it can be removed", async ({ console: page, api, app, receiver }) => {
  const rejecting = await deadLetters(api, app, receiver, products(2, "bad"), { integration: "Rejecting" });
  await open(page, `/jobs?app_id=${app.id}`);
  await page.getByText("More filters").click();
  await page.getByLabel("Error contains").fill("400");
  await page.getByLabel("Younger than", { exact: true }).fill("60m");
  await page.getByLabel("Attempts, at least").fill("1");
  await page.getByLabel("Last response", { exact: true }).fill("4xx");
  await page.getByLabel("Integration", { exact: true }).selectOption(rejecting.id);
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(page).toHaveURL(/response_status=4xx/);
  await expect(rows(page, "Jobs")).toHaveCount(2);
  const sentence = page.locator("[data-filters]");
  await expect(sentence).toHaveText(
    new RegExp(
      `^Jobs ?of ${app.name} ?, ?for Rejecting ?, ?younger than an hour ?, ` +
        "?after at least 1 attempt ?, ?last answered 4xx ?, ?whose error contains “400” ?\\.$",
    ),
  );
  await expectWellMade(page);
  await hydrated(page);
  await page.getByRole("link", { name: "whose error contains “400”, remove" }).click();
  await expect(page).toHaveURL(/max_age=60m/);
  await expect(page).not.toHaveURL(/error=/);
  await expect(sentence).not.toContainText("400");
  await expect(page.getByLabel("Younger than", { exact: true })).toHaveValue("60m");
});

test("a filter that would scan all jobs says what it needs and keeps the other filters", async ({ console: page, app }) => {
  await open(page, `/jobs?app_id=${app.id}&response_status=503`);
  await expect(page.getByText("Add another filter")).toBeVisible();
  await expect(page.getByText(/response_status needs another filter/)).toBeVisible();
  await expect(page.getByLabel("Last response", { exact: true })).toHaveValue("503");
  await expectWellMade(page);
  await page.getByRole("navigation", { name: "State" }).getByRole("link", { name: "Failed" }).click();
  await expect(page.getByText("No jobs match these filters")).toBeVisible();
});

test("a filter that cannot be read is reported and not ignored", async ({ page, sessions }) => {
  await enter(page, "operator", sessions);
  const answer = await page.goto("/jobs?status=nonsense");
  expect(answer?.status()).toBe(422);
  await expect(page.getByText("This URL is not valid")).toBeVisible();
});

test("links lead to older jobs and back to the newest", async ({ console: page, api, app, receiver }) => {
  await inSync(api, app, receiver, products(7));
  await open(page, `/jobs?app_id=${app.id}&limit=3`);
  await expect(rows(page, "Jobs")).toHaveCount(3);
  await expect(page.getByText("3 of 7 jobs shown")).toBeVisible();
  await page.getByRole("link", { name: "Older" }).click();
  await expect(page).toHaveURL(/cursor=/);
  await expect(row(page, "Jobs", "product sku-4 ")).toHaveCount(1);
  await page.getByRole("link", { name: "Older" }).click();
  await expect(rows(page, "Jobs")).toHaveCount(1);
  await expect(page.getByRole("link", { name: "Older" })).toHaveCount(0);
  await page.getByRole("link", { name: "Newest" }).click();
  await expect(page).toHaveURL(`/jobs?app_id=${app.id}&limit=3`);
  await expect(rows(page, "Jobs")).toHaveCount(3);
});

test("a waiting job shows its last error, its attempts and the time of the next one", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, [{ id: "sku-1", attributes: { title: "Oak table", price: 749 } }]);
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs?app_id=${app.id}`);
  await page.getByRole("link", { name: "product sku-1" }).click();
  await expect(page).toHaveURL(`/jobs/${job.id}`);
  await expect(page).toHaveTitle("Jobs · Headgate");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("product sku-1 → Marketplace");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("To be retried");
  // Within an hour of midnight the day is shown too.
  await expect(card(page, "Verdict")).toContainText(/Waits for its 2nd attempt at (\d+ \w+ )?\d\d:\d\d:\d\d, in \d+ m/);
  await expect(card(page, "Verdict")).toContainText("Last attempt:");
  await expect(card(page, "Attempts").getByRole("listitem")).toHaveCount(1);
  await expect(card(page, "Attempts")).toContainText("503");
  await expect(card(page, "Attempts")).toContainText("upstream is out of order");
  await expect(card(page, "What it sends")).toContainText('"title": "Oak table"');
  await expect(card(page, "Facts")).toContainText(app.name);
  await expectWellMade(page);
});

test("a requeued job shows where its attempts count from 1 again", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, products(1));
  const job = await jobOf(api, integration, "sku-1");
  receiver.answer = { status: 502, body: "still out of order" };
  await api.requeue(job);
  await expect.poll(() => receiver.received.length).toBe(2);
  await settled(api, integration, "to_be_retried", 1);
  await open(page, `/jobs/${job.id}`);
  const attempts = card(page, "Attempts");
  await expect(attempts).toContainText("1 of 10 · 2 in total");
  await expect(attempts.getByRole("listitem")).toHaveText([/502/, /Requeued, attempts start over at 1/, /503/]);
  await expectWellMade(page);
});

test("a step of the retry pyramid leads to the jobs of that attempt", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, products(2));
  await openUntil(page, `/integrations/${integration.id}`, () =>
    expect(card(page, "Retry pyramid").getByRole("link", { name: "attempt 1 2" })).toBeVisible({ timeout: 1_000 }),
  );
  await card(page, "Retry pyramid").getByRole("link", { name: "attempt 1 2" }).click();
  await expect(page).toHaveURL(`/jobs?status=to_be_retried&attempt=1&integration_id=${integration.id}`);
  await expect(rows(page, "Jobs")).toHaveCount(2);
  await expect(page.getByRole("link", { name: "after exactly 1 attempt, remove" })).toBeVisible();
  await expectWellMade(page);
  await open(page, `/jobs?status=to_be_retried&attempt=2&integration_id=${integration.id}`);
  await expect(page.getByText("No jobs match these filters")).toBeVisible();
});

test("a row has its integration's name, however new that is", async ({ console: page, api, app, receiver }) => {
  const integration = await api.createIntegration(app, "Brand new", receiver.url);
  await api.pause(integration);
  await api.sendEvents(app, products(1));
  await open(page, `/jobs?app_id=${app.id}&integration_id=${integration.id}`);
  await expect(row(page, "Jobs", "product sku-1").getByRole("link", { name: "Brand new" })).toBeVisible();
  await expect(row(page, "Jobs", "product sku-1")).toContainText(app.name);
  await expect(page.getByRole("link", { name: `of ${app.name}, remove` })).toBeVisible();
  await expect(page.getByLabel("Integration", { exact: true })).toHaveValue(integration.id);
});

test("one job is requeued and sent", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, products(1));
  const job = await jobOf(api, integration, "sku-1");
  receiver.answer = { status: 200, body: "ok" };
  await open(page, `/jobs/${job.id}`);
  await page.getByRole("button", { name: "Requeue" }).click();
  await expect(notice(page)).toHaveText("1 job requeued. Attempts start over.");
  await expect.poll(() => receiver.received.length).toBe(2);
  await expect.poll(async () => (await jobOf(api, integration, "sku-1")).status).toBe("completed");
  await open(page, `/jobs/${job.id}`);
  await expect(card(page, "Verdict")).toContainText("Completed");
  await expect(page.getByRole("button", { name: "Requeue" })).toHaveCount(0);
  await expectWellMade(page);
});

test("cancelling a job asks first", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, products(1));
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs/${job.id}`);
  await page.getByRole("main").getByRole("link", { name: "Cancel" }).click();
  const question = page.getByRole("dialog", { name: "Cancel 1 job?" });
  await expect(question).toContainText("It is not sent unless you requeue it later.");
  await expectWellMade(page);
  await question.getByRole("link", { name: "Back" }).click();
  await expect(question).toHaveCount(0);
  expect((await jobOf(api, integration, "sku-1")).status).toBe("to_be_retried");

  await page.getByRole("main").getByRole("link", { name: "Cancel" }).click();
  await question.getByRole("button", { name: "Cancel 1 job" }).click();
  await expect(notice(page)).toHaveText("1 job cancelled.");
  await expect(question).toHaveCount(0);
  await expect(card(page, "Verdict")).toContainText("Cancelled");
  expect((await jobOf(api, integration, "sku-1")).status).toBe("cancelled");

  await expect(page.getByRole("main").getByRole("link", { name: "Cancel" })).toHaveCount(0);
  receiver.answer = { status: 200, body: "ok" };
  await page.getByRole("button", { name: "Requeue" }).click();
  await expect(notice(page)).toHaveText("1 job requeued. Attempts start over.");
  await expect.poll(async () => (await jobOf(api, integration, "sku-1")).status).toBe("completed");
});

test("failed jobs can be requeued, and are offered no cancel", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(2));
  const cancels = (role: "link" | "button") => page.getByRole("main").getByRole(role, { name: /^Cancel( \d|$| all)/ });
  await open(page, `/jobs/${(await jobOf(api, integration, "sku-1")).id}`);
  await expect(page.getByRole("button", { name: "Requeue", exact: true })).toBeVisible();
  await expect(cancels("link")).toHaveCount(0);
  for (const list of [`/jobs?status=failed&app_id=${app.id}`, `/jobs?app_id=${app.id}`]) {
    await open(page, list);
    await expect(page.getByRole("link", { name: "Requeue all that match" })).toBeVisible();
    await expect(page.getByRole("button", { name: "Requeue", exact: true })).toBeVisible();
    for (const role of ["link", "button"] as const) await expect(cancels(role)).toHaveCount(0);
    await open(page, `${list}&ticked=all`);
    await expect(page.getByRole("link", { name: "Requeue 2", exact: true })).toBeVisible();
    await expect(cancels("link")).toHaveCount(0);
  }
});

test("completed jobs are offered neither", async ({ console: page, api, app, receiver }) => {
  await inSync(api, app, receiver, products(1));
  await open(page, `/jobs?app_id=${app.id}`);
  await expect(page.getByText("These jobs can be neither requeued nor cancelled.")).toBeVisible();
  for (const role of ["link", "button"] as const) {
    await expect(page.getByRole("main").getByRole(role, { name: /^(Requeue|Cancel)( all that match)?$/ })).toHaveCount(0);
  }
  await expectWellMade(page);
});

test("selected jobs are requeued and the filters stay", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, products(3));
  receiver.answer = { status: 200, body: "ok" };
  await open(page, "/jobs?status=to_be_retried&record_type=product");
  await expect(rows(page, "Jobs")).toHaveCount(3);
  await row(page, "Jobs", "product sku-1").getByRole("checkbox").check();
  await row(page, "Jobs", "product sku-3").getByRole("checkbox").check();
  await page.getByRole("button", { name: "Requeue" }).click();
  await expect(notice(page)).toHaveText("2 jobs requeued. Attempts start over.");
  await expect(page).toHaveURL(/status=to_be_retried/);
  await expect(page).toHaveURL(/record_type=product/);
  await expect(page.getByRole("link", { name: "about a product, remove" })).toBeVisible();
  await expect.poll(() => receiver.received.length).toBe(5);
  expect((await jobOf(api, integration, "sku-2")).status).toBe("to_be_retried");
});

test("all that match are cancelled after a confirmation that names the count", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, products(3));
  await open(page, "/jobs?status=to_be_retried");
  await page.getByRole("link", { name: "Cancel all that match" }).click();
  const question = page.getByRole("dialog", { name: "Cancel 3 jobs?" });
  await expect(question).toBeVisible();
  await question.getByRole("button", { name: "Cancel 3 jobs" }).click();
  await expect(notice(page)).toHaveText("3 jobs cancelled.");
  await expect(page).toHaveURL(/status=to_be_retried/);
  await expect(page.getByText("No jobs match these filters")).toBeVisible();
  expect((await api.status(integration)).to_be_retried).toBe(0);
});

test("an empty selection is reported", async ({ console: page, api, app, receiver }) => {
  await retries(api, app, receiver, products(1));
  await open(page, `/jobs?app_id=${app.id}`);
  await page.getByRole("button", { name: "Requeue" }).click();
  await expect(page.getByRole("alert")).toHaveText("Nothing selected: select rows first.");
});

test("an unknown job is not found", async ({ page, sessions }) => {
  await enter(page, "operator", sessions);
  for (const id of ["0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7", "nonsense"]) {
    const answer = await page.goto(`/jobs/${id}`);
    expect(answer?.status()).toBe(404);
    await expect(page.getByText("It does not exist")).toBeVisible();
  }
});
