// One job: why it waits and what helps, what of it is secret, what its way was.
import type { Page } from "@playwright/test";
import { deadLetters, jobOf, retries, settled } from "../fixtures/data";
import { expectWellMade } from "../fixtures/looks";
import { card, notice } from "../fixtures/parts";
import { expect, open, test } from "../fixtures/test";

const SECRET = "hunter2hunter2";
const CHANGES = [{ id: "sku-1", attributes: { title: "Oak table", apiKey: SECRET, supplier: { iban: SECRET } } }];

/** Neither on the page nor in what it was made of. */
async function expectNoSecret(page: Page): Promise<void> {
  expect(await page.content()).not.toContain(SECRET);
}

test("a secret is masked until an operator reveals it, and the audit log keeps that", async ({ console: page, api, app, receiver }) => {
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
  await expect(notice(page)).toHaveText("Shown to you for 5 minutes; the audit log says so.");
  await expect(card(page, "What it sends")).toContainText(`"apiKey": "${SECRET}"`);
  await expect(page.getByText("Secrets are shown to you until")).toBeVisible();
  await expectWellMade(page);
  await page.getByRole("link", { name: "Hide" }).click();
  await expect(card(page, "What it sends")).toContainText('"apiKey": "[masked]"');
  await open(page, `/audit-log?object_id=${job.id}`);
  await expect(page.getByRole("main")).toContainText("looked at the secrets of job");
});

test.describe("support", () => {
  test.use({ role: "support" });

  test("reads no secret, not in what came back either", async ({ console: page, api, app, receiver }) => {
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
    await expect(page.getByText("Operators may see them.")).toBeVisible();
    await expect(page.getByRole("button", { name: "Reveal" })).toHaveCount(0);
    await expectWellMade(page);
  });
});

test("what holds a job says what helps, and leads there", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, [{ id: "sku-1" }]);
  await api.pause(integration);
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs/${job.id}`);
  const verdict = card(page, "Verdict");
  await expect(verdict).toContainText("What helps: Resume the integration.");
  await expectWellMade(page);
  await verdict.getByRole("link", { name: "To the integration" }).first().click();
  await expect(page).toHaveURL(`/integrations/${integration.id}`);
});
