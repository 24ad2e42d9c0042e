// Cancelling a job while its request is under way: what the page says before and after its worker has stopped, and that nothing follows.
import { jobOf } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { card, notice, row } from "../fixtures/parts";
import { SlowReceiver } from "../fixtures/slow_receiver";
import { test as base, expect, open, openUntil } from "../fixtures/test";

const test = base.extend<{ slow: SlowReceiver }>({
  slow: async ({}, use) => {
    const slow = await SlowReceiver.start();
    await use(slow);
    await slow.stop();
  },
});

test("a job that is being sent is stopped, and nothing is sent again", async ({ console: page, api, app, slow }) => {
  const integration = await api.createIntegration(app, "Slow shop", slow.url, { retry_schedule: "0s" });
  await api.sendEvents(app, [{ id: "sku-1" }]);
  await expect.poll(() => slow.requests.length).toBe(1);
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs/${job.id}`);
  await expect(card(page, "Verdict")).toContainText("Processing: attempt 1 of 10");
  await page.getByRole("main").getByRole("link", { name: "Cancel" }).click();
  const question = page.getByRole("dialog", { name: "Cancel 1 job?" });
  await expect(question).toContainText("Its worker is told to stop; what it has sent by then may have arrived.");
  await expectWellMade(page);
  await question.getByRole("button", { name: "Cancel 1 job" }).click();

  await expect(notice(page)).toHaveText("1 job cancelled.");
  await expect(card(page, "Verdict")).toContainText("Cancelled at");
  await expect(card(page, "Attempts")).toContainText("Stopped: the job was cancelled");
  await expect(page.getByRole("main").getByRole("link", { name: "Cancel" })).toHaveCount(0);
  await expectWellMade(page);
  await expect.poll(() => slow.requests[0].isAborted, { message: "the request was aborted" }).toBe(true);

  // The next change is sent with all attributes, because nobody knows what arrived; the cancelled job is not sent again.
  await api.sendEvents(app, [{ id: "sku-1", attributes: { price: 13 } }]);
  await expect.poll(() => slow.requests.length).toBe(2);
  expect(slow.requests[1].body).toMatchObject({ full: true, changes: { set: { title: "Product sku-1", price: 13 } } });
  expect(slow.requests[1].body.id).not.toBe(job.id);
  slow.requests[1].answer(200);
  await expect.poll(async () => (await api.status(integration)).records_in_sync).toBe(1);
  expect(slow.requests).toHaveLength(2);
  await openUntil(page, `/jobs?integration_id=${integration.id}&status=cancelled`, () =>
    expect(row(page, "Jobs", "product sku-1")).toContainText("Cancelled", { timeout: 1_000 }),
  );
});

test("a job that can no longer be stopped says so until its answer arrives", async ({ console: page, api, app, slow }) => {
  const integration = await api.createIntegration(app, "Slow bundle", slow.url, {
    integration_type: "bundle",
    bundle_window_seconds: 1,
    retry_schedule: "0s",
  });
  await api.sendEvents(app, [{ id: "sku-1" }, { id: "sku-2" }]);
  await expect.poll(() => slow.requests.length, { timeout: 15_000 }).toBe(1);
  const job = await jobOf(api, integration, "sku-1");
  const path = `/jobs/${job.id}`;
  await open(page, path);
  await page.getByRole("main").getByRole("link", { name: "Cancel" }).click();
  await page.getByRole("dialog", { name: "Cancel 1 job?" }).getByRole("button", { name: "Cancel 1 job" }).click();

  await expect(notice(page)).toHaveText(
    "Cancellation requested. The worker has not stopped yet; there are no further attempts.",
  );
  const verdict = card(page, "Verdict");
  await expect(verdict).toContainText("Cancellation was requested");
  await expect(verdict).toContainText("No further attempt follows");
  await expect(page.getByRole("main").getByRole("link", { name: "Cancel" }), "it cannot be requested twice").toHaveCount(0);
  await expectWellMade(page);
  expect(slow.requests[0].isAborted, "the other record is still being sent").toBe(false);

  slow.requests[0].answer(503);
  await openUntil(page, path, () => expect(verdict).toContainText("Cancelled at", { timeout: 1_000 }));
  await expectWellMade(page);

  // The other job is retried alone.
  await expect.poll(() => slow.requests.length, { timeout: 15_000 }).toBe(2);
  expect(slow.requests[1].body.items.map((item: any) => item.record.id)).toEqual(["sku-2"]);
  slow.requests[1].answer(200);
  await expect.poll(async () => (await api.status(integration)).records_in_sync, { timeout: 15_000 }).toBe(1);
  expect((await jobOf(api, integration, "sku-1")).status).toBe("cancelled");
  expect(slow.requests).toHaveLength(2);
});
