// Content of others is shown as text everywhere.
import { deadLetters, jobOf, settled } from "../fixtures/data";
import { card, row } from "../fixtures/parts";
import { expect, open, openUntil, test } from "../fixtures/test";

const SCRIPT = "<script>alert(1)</script>";
const IMAGE = `<img src=x onerror="alert(1)">`;

test("markup in titles, names and errors stays text", async ({ console: page, api, app, receiver }) => {
  page.on("dialog", () => expect(false, "no script runs").toBe(true));
  receiver.answer = { status: 400, body: `**strong** <h1>Bad</h1>${SCRIPT}${IMAGE}` };
  const integration = await api.createIntegration(app, `Shop ${IMAGE}`, receiver.url);
  await api.sendEvents(app, [{ id: `sku"${IMAGE}`, attributes: { title: SCRIPT, [IMAGE]: "</pre></script>" } }]);
  await settled(api, integration, "dead_letters", 1);
  const job = await jobOf(api, integration, encodeURIComponent(`sku"${IMAGE}`));

  await open(page, `/jobs/${job.id}`);
  await expect(page.getByRole("heading", { level: 1 })).toContainText(`product sku"${IMAGE} → Shop ${IMAGE}`);
  await expect(card(page, "What it sends")).toContainText(`"title": "${SCRIPT}"`);
  await expect(card(page, "Attempts")).toContainText(SCRIPT);
  await expectNoForeignElement();

  await open(page, "/dead-letters");
  await expect(row(page, "Dead letters", `product sku"${IMAGE}`)).toBeVisible();
  await expectNoForeignElement();
  await open(page, `/jobs?q=${encodeURIComponent(SCRIPT)}&record_id=${encodeURIComponent(IMAGE)}`);
  await expect(page.getByLabel("Search")).toHaveValue(SCRIPT);
  await expect(page.getByRole("link", { name: `about record ${IMAGE}, remove` })).toBeVisible();
  await expectNoForeignElement();
  await openUntil(page, "/", () => expect(page.getByText("**strong**").first()).toBeVisible({ timeout: 1_000 }));
  await expectNoForeignElement();
  await open(page, `/integrations/${integration.id}`);
  await expect(card(page, "Verdict")).toContainText("400 Bad Request: * *strong* *");
  await expectNoForeignElement();

  async function expectNoForeignElement(): Promise<void> {
    await expect(page.locator("img")).toHaveCount(0);
    await expect(page.locator("h1")).toHaveCount(1);
  }
});

test("a long answer with control characters is shortened and keeps its lines", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, []);
  receiver.answer = { status: 422, body: `first line\u0007\nsecond ${"long ".repeat(5_000)}` };
  await api.sendEvents(app, [{ id: "sku-1" }]);
  await settled(api, integration, "dead_letters", 1);
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs/${job.id}`);
  await expect(card(page, "Attempts")).toContainText("first line");
  expect((await card(page, "Attempts").innerText()).length).toBeLessThan(12_000);
  await open(page, "/dead-letters");
  await expect(row(page, "Dead letters", "product sku-1")).toContainText("422");
});
