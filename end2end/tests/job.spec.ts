// One job: why it waits and what helps, its masked values, and its attempts.
import type { Page } from "@playwright/test";
import { collecting, deadLetters, failedJob, inSync, jobOf, retries, settled } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { card, notice } from "../fixtures/parts";
import { expect, hasJavaScript, open, test } from "../fixtures/test";

const SECRET = "hunter2hunter2";
const CHANGES = [{ id: "sku-1", attributes: { title: "Oak table", apiKey: SECRET, supplier: { iban: SECRET } } }];

/** Neither on the page nor in its source. */
async function expectNoSecret(page: Page): Promise<void> {
  expect(await page.content()).not.toContain(SECRET);
}

test("a secret is masked until an operator reveals it, which is in the audit log", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, CHANGES, { more: { metadata: { masked_fields: ["title"] } } });
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs/${job.id}`);
  await expect(card(page, "What it sends")).toContainText('"apiKey": "[masked]"');
  await expect(card(page, "What it sends")).toContainText('"title": "[masked]"');
  await expect(page.getByText("3 values are masked")).toBeVisible();
  await expectNoSecret(page);
  await expectWellMade(page);
  await open(page, `/records?q=sku-1`);
  await expectNoSecret(page);
  await open(page, `/jobs/${job.id}?revealed=1`);
  await expectNoSecret(page);

  await page.getByRole("button", { name: "Reveal" }).click();
  await expect(notice(page)).toHaveText("Revealed to you for 5 minutes. Recorded in the audit log.");
  await expect(card(page, "What it sends")).toContainText(`"apiKey": "${SECRET}"`);
  await expect(page.getByText("Masked values are revealed to you until")).toBeVisible();
  await expectWellMade(page);
  await page.getByRole("link", { name: "Hide" }).click();
  await expect(card(page, "What it sends")).toContainText('"apiKey": "[masked]"');
  await open(page, `/audit-log?object_id=${job.id}`);
  await expect(page.getByRole("main")).toContainText("revealed masked values of job");
});

test.describe("support", () => {
  test.use({ role: "support" });

  test("reads no secret, not even in an answer", async ({ console: page, api, app, receiver }) => {
    const integration = await deadLetters(api, app, receiver, []);
    receiver.answer = { status: 400, body: `{"error":"bad","token":"${SECRET}"}` };
    await api.sendEvents(app, CHANGES);
    await settled(api, integration, "dead_letters", 1);
    const job = await jobOf(api, integration, "sku-1");
    for (const path of [`/jobs/${job.id}`, `/jobs/${job.id}?revealed=1`, "/jobs", "/dead-letters", "/records?q=sku-1"]) {
      await open(page, path);
      await expectNoSecret(page);
    }
    await open(page, `/jobs/${job.id}`);
    await expect(card(page, "Attempts")).toContainText('"token":"[masked]"');
    await expect(page.getByText("Operators can reveal them.")).toBeVisible();
    await expect(page.getByRole("button", { name: "Reveal" })).toHaveCount(0);
    await expectWellMade(page);
  });
});

test("the page says why a job waits and what helps, with a link", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, [{ id: "sku-1" }]);
  await api.pause(integration);
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs/${job.id}`);
  const verdict = card(page, "Verdict");
  await expect(verdict).toContainText("What helps: Resume the integration.");
  await expectWellMade(page);
  await verdict.getByRole("link", { name: "Go to integration" }).first().click();
  await expect(page).toHaveURL(`/integrations/${integration.id}`);
});

test("each attempt shows request, answer, timing and why the next one waits", async ({ console: page, api, app, receiver }) => {
  receiver.answer = { status: 503, body: "x".repeat(5_000), headers: { "retry-after": "3600", "x-request-id": "r-7", "content-type": "text/plain" } };
  const integration = await api.createIntegration(app, "Shop front", receiver.url, { credentials: { authorization: `Bearer ${SECRET}` } });
  await api.sendEvents(app, CHANGES);
  await settled(api, integration, "to_be_retried", 1);
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs/${job.id}`);
  const attempts = card(page, "Attempts");
  await expect(attempts).toContainText("their Retry-After asked for 3,600 s");
  await expect(attempts).toContainText(/prepare|response after|connect/);
  await attempts.getByText("Request and response").click();
  const request = attempts.getByRole("group", { name: "Request of attempt 1" });
  await expect(request).toContainText(`POST ${receiver.url}`);
  await expect(request).toContainText(`webhook-id: ${job.id}`);
  await expect(request).toContainText("authorization: [masked]");
  await expect(request).toContainText('"apiKey":"[masked]"');
  const answer = attempts.getByRole("group", { name: "Response of attempt 1" });
  await expect(answer).toContainText("503 Service Unavailable");
  await expect(answer).toContainText("x-request-id: r-7");
  await expect(attempts).toContainText("Response: body truncated: 2,000 characters of 5 kB");
  await expectNoSecret(page);
  await expectWellMade(page);
});

test("an attempt whose request is not kept says so, and why", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, [{ id: "sku-1" }]);
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs/${job.id}`);
  await expect(card(page, "Attempts")).toContainText("Request not kept: of successful attempts only status, response and time are.");
});

test("folded changes are listed with type and time, and the batch leads to its other jobs", async ({ console: page, api, app, receiver }) => {
  const integration = await collecting(api, app, receiver, [{ id: "sku-1" }]);
  await api.sendEvents(app, [{ id: "sku-1", attributes: { title: "Ash table" } }]);
  await api.sendEvents(app, [{ id: "sku-1", attributes: { title: "Elm table" } }]);
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs/${job.id}`);
  const folded = card(page, "Folded in");
  await expect(folded).toContainText("2 further changes");
  await expect(folded.getByRole("listitem")).toHaveCount(2);
  await expect(folded.getByRole("listitem").first()).toContainText("record.updated");
  await expectWellMade(page);

  const other = await inSync(api, app, receiver, [{ id: "sku-2" }], { integration: "Shop front" });
  const { batch_id: batch } = await api.call<{ batch_id: string }>("POST", `/integrations/${other.id}/resync`, { mode: "full" });
  // For both records of the app.
  await expect.poll(async () => (await api.jobs(`batch_id=${batch}`)).length).toBe(2);
  const [sent] = await api.jobs(`batch_id=${batch}`);
  await open(page, `/jobs/${sent?.id}`);
  await card(page, "Facts").getByRole("link", { name: batch }).click();
  await expect(page).toHaveURL(`/jobs?batch_id=${batch}`);
});

test("a failed job is edited and sent", async ({ console: page, api, app, receiver }) => {
  const { id } = await failedJob(api, app, receiver, { day: "2026-13-01" });
  await open(page, `/jobs/${id}`);
  await page.getByRole("link", { name: "Edit payload" }).click();
  const field = page.getByLabel("Payload, as JSON");
  await expect(field).toHaveValue('{\n  "day": "2026-13-01"\n}');
  await expectWellMade(page);
  const send = page.getByRole("button", { name: "Requeue with this payload" });
  await field.fill('{\n  "day": 2026-12-01\n}');
  if (hasJavaScript()) {
    await expect(send).toBeDisabled();
  } else {
    await send.click();
    await expect(notice(page).or(page.getByRole("main").getByRole("alert"))).toContainText("Nothing was changed");
    await expect(field).toHaveValue('{\n  "day": 2026-12-01\n}');
  }
  await expect(card(page, "Edit and requeue")).toContainText("Line 2, column");
  receiver.answer = { status: 200, body: "ok" };
  await field.fill('{"day": "2026-12-01"}');
  await send.click();
  await expect(notice(page)).toHaveText("Payload changed and job requeued. Attempts start over.");
  await expect.poll(() => receiver.received.at(-1)?.body.payload).toEqual({ day: "2026-12-01" });
  await expect.poll(async () => (await api.call<{ status: string }>("GET", `/jobs/${id}`)).status).toBe("completed");
  await open(page, `/jobs/${id}`);
  const states = card(page, "States").getByRole("listitem");
  await expect(states).toHaveText([/Pending.*accepted/, /Processing.*attempt 1/, /Pending.*requeued/, /Processing.*attempt 1/, /Completed/]);
  await expectWellMade(page);
});

test("the payload of a record's job cannot be edited, and the page says why", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, [{ id: "sku-1" }]);
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs/${job.id}?edit=1`);
  await expect(card(page, "Edit and requeue")).toContainText("computed from its record");
  await expect(page.getByLabel("Payload, as JSON")).toHaveCount(0);
});

test("the request is shown as a curl command without its secrets", async ({ console: page, api, app, receiver }) => {
  const { id } = await failedJob(api, app, receiver, { day: "it's", password: SECRET });
  await open(page, `/jobs/${id}`);
  const curl = card(page, "As curl");
  await expect(curl).toContainText(`curl --request POST '${receiver.url}'`);
  await expect(curl).toContainText("--header 'webhook-signature: <signature>'");
  await expect(curl).toContainText(`"day":"it'\\''s"`);
  await expect(curl).toContainText('"password":"[masked]"');
  await expectNoSecret(page);
  await expect(card(page, "Edit and requeue")).toContainText("Reveal the masked values first");
});

test("the jobs before it at its serialize key and of its correlation are listed", async ({ console: page, api, app, receiver }) => {
  const integration = await api.createIntegration(app, "Ordered", receiver.url);
  await api.pause(integration);
  const job = { integration_id: integration.id, job_type: "step", serialize_key: "order-7", correlation_id: `${app.id}-order` };
  const made = await api.call<{ items: { id: string }[] }>("POST", "/jobs", [{ ...job, job_type: "first" }, { ...job, job_type: "second" }, job]);
  await open(page, `/jobs/${made.items[1]?.id}`);
  await expect(card(page, "Same serialize key").getByRole("listitem")).toHaveText([/first.*head of the key/, /second.*this job/, /step/]);
  await expect(card(page, "Same correlation id").getByRole("listitem")).toHaveCount(2);
  await expectWellMade(page);
  await card(page, "Same correlation id").getByRole("link", { name: "first" }).click();
  await expect(page).toHaveURL(`/jobs/${made.items[0]?.id}`);
});
