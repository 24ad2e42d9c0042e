// Selected rows stay selected; buttons change exactly what they name.
import { collecting, deadLetters, jobOf, products, retries, settled } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { notice, row, rows } from "../fixtures/parts";
import { expect, hasJavaScript, hydrated, open, test } from "../fixtures/test";

test("all that match are selected over every page, with the count of list and buttons", async ({ console: page, api, app, receiver }) => {
  await collecting(api, app, receiver, products(2, "waits"), { integration: "Paused" });
  const integration = await retries(api, app, receiver, products(5));
  await open(page, `/jobs?integration_id=${integration.id}&limit=2`);
  await expect(page.getByText("2 of 5 jobs shown")).toBeVisible();
  await page.getByRole("link", { name: "Select all 5 that match" }).click();
  await expect(page.getByText("All 5 that match are selected, on every page.")).toBeVisible();
  await expect(row(page, "Jobs", "product sku-5").getByRole("checkbox")).toBeChecked();
  await expectWellMade(page);
  await page.getByRole("link", { name: "Cancel 5", exact: true }).click();
  const question = page.getByRole("dialog", { name: "Cancel 5 jobs?" });
  await question.getByRole("button", { name: "Cancel 5 jobs" }).click();
  await expect(notice(page)).toHaveText("5 jobs cancelled.");
  await expect(page).toHaveURL(new RegExp(`integration_id=${integration.id}`));
  expect((await api.status(integration)).to_be_retried).toBe(0);
});

test("jobs that cannot be requeued are not counted by the requeue button", async ({ console: page, api, app, receiver }) => {
  await collecting(api, app, receiver, products(2, "waits"), { integration: "Paused" });
  await open(page, `/jobs?app_id=${app.id}&ticked=all`);
  await expect(page.getByText("All 2 that match are selected, on every page.")).toBeVisible();
  await expect(page.getByRole("link", { name: "Cancel 2", exact: true })).toBeVisible();
  await expect(page.getByRole("link", { name: /^Requeue \d/ })).toHaveCount(0);
  await page.getByRole("link", { name: "Select row by row" }).click();
  await expect(page.getByRole("button", { name: "Cancel", exact: true })).toBeVisible();
  await expect(page.getByRole("button", { name: "Requeue" })).toHaveCount(0);
});

test("a whole page is selected at once and requeued, and the filters stay", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, products(3));
  receiver.answer = { status: 200, body: "ok" };
  await open(page, `/jobs?integration_id=${integration.id}&status=to_be_retried&limit=2`);
  await page.getByRole("link", { name: "Select all 2 on this page" }).click();
  await expect(page.getByRole("checkbox", { name: "Select product sku-2" })).toBeChecked();
  await expect(page.getByRole("checkbox", { name: "Select product sku-3" })).toBeChecked();
  await page.getByRole("button", { name: "Requeue" }).click();
  await expect(notice(page)).toHaveText("2 jobs requeued. Attempts start over.");
  await expect(page).toHaveURL(/status=to_be_retried/);
  await expect(rows(page, "Jobs")).toHaveCount(1);
  expect((await jobOf(api, integration, "sku-1")).status).toBe("to_be_retried");
});

test.describe("with a script", () => {
  test("a selection survives other pages and new data, and is cleared with the filters", async ({ console: page, api, app, receiver }) => {
    test.skip(!hasJavaScript(), "without a script each page is a form of its own");
    const integration = await retries(api, app, receiver, products(5));
    await open(page, `/jobs?integration_id=${integration.id}&limit=3`);
    const tick = (name: string) => page.getByRole("checkbox", { name: `Select product ${name}` });
    await tick("sku-5").click();
    await tick("sku-3").click({ modifiers: ["Shift"] });
    await expect(tick("sku-4")).toBeChecked();
    await expect(page.getByText("3 jobs selected:")).toBeVisible();
    await tick("sku-4").uncheck();
    await page.getByRole("link", { name: "Older" }).click();
    await expect(page.getByText("2 jobs selected, 2 of them on other pages:")).toBeVisible();
    await tick("sku-1").check();
    await page.getByRole("link", { name: "Newest" }).click();
    await expect(tick("sku-5")).toBeChecked();
    await expect(tick("sku-4")).not.toBeChecked();
    await expectWellMade(page);

    // The dialog and back.
    await page.getByRole("button", { name: "Cancel" }).click();
    const question = page.getByRole("dialog", { name: "Cancel 3 jobs?" });
    await hydrated(page);
    await question.getByRole("link", { name: "Back" }).click();
    await expect(page.getByText("3 jobs selected, 1 of them on other pages:")).toBeVisible();

    receiver.answer = { status: 200, body: "ok" };
    await page.getByRole("button", { name: "Requeue" }).click();
    await expect(notice(page)).toHaveText("3 jobs requeued. Attempts start over.");
    await expect(page.getByText("Selected jobs:")).toBeVisible();
    expect((await jobOf(api, integration, "sku-4")).status).toBe("to_be_retried");

    await tick("sku-4").check();
    await page.getByRole("navigation", { name: "State" }).getByRole("link", { name: "To be retried" }).click();
    await expect(page).toHaveURL(/status=to_be_retried/);
    await expect(tick("sku-4")).not.toBeChecked();
  });

  test("what is offered follows the states of the selected rows", async ({ console: page, api, app, receiver }) => {
    test.skip(!hasJavaScript(), "without a script nothing is known of the selected rows");
    const integration = await deadLetters(api, app, receiver, products(1, "dead"));
    receiver.answer = { status: 503, body: "out of order" };
    await api.sendEvents(app, products(1));
    await settled(api, integration, "to_be_retried", 1);
    await open(page, `/jobs?integration_id=${integration.id}`);
    const cancel = page.getByRole("button", { name: "Cancel", exact: true });
    await expect(cancel).toBeVisible();
    await page.getByRole("checkbox", { name: "Select product dead-1" }).check();
    await expect(cancel, "a failed job cannot be cancelled").toHaveCount(0);
    await expect(page.getByRole("button", { name: "Requeue" })).toBeVisible();
    await page.getByRole("checkbox", { name: "Select product sku-1" }).check();
    await expect(cancel).toBeVisible();
  });

  test("rows are frozen while one is selected", async ({ console: page, api, app, receiver }) => {
    test.skip(!hasJavaScript(), "without a script pages do not update");
    const integration = await retries(api, app, receiver, products(2));
    await open(page, `/jobs?integration_id=${integration.id}`);
    await page.getByRole("checkbox", { name: "Select product sku-1" }).check();
    receiver.answer = { status: 200, body: "ok" };
    await api.call("POST", `/jobs/${(await jobOf(api, integration, "sku-2")).id}/requeue`);
    await expect.poll(async () => (await jobOf(api, integration, "sku-2")).status).toBe("completed");
    await expect(row(page, "Jobs", "product sku-2")).toContainText("To be retried");
    await page.getByRole("checkbox", { name: "Select product sku-1" }).uncheck();
    await expect(row(page, "Jobs", "product sku-2")).toContainText("Completed");
  });
});
