// Roles: pages offer only what the role allows, and the program refuses everything else.
import type { Page } from "@playwright/test";
import { BASE_URL } from "../fixtures/environment";
import { deadLetters, inSync, jobOf, products, settled } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { card, notice, rows } from "../fixtures/parts";
import { enter, expect, open, test } from "../fixtures/test";

test.describe("support", () => {
  test.use({ role: "support" });

  test("requeues, but is offered no purge", async ({ console: page, api, app, receiver }) => {
    const integration = await deadLetters(api, app, receiver, products(2));
    receiver.answer = { status: 200, body: "ok" };
    await open(page, "/dead-letters");
    await expect(rows(page, "Dead letters")).toHaveCount(2);
    for (const role of ["link", "button"] as const) await expect(page.getByRole(role, { name: /Purge/ })).toHaveCount(0);
    await expectWellMade(page);
    await rows(page, "Dead letters").first().getByRole("checkbox").check();
    await page.getByRole("button", { name: "Requeue" }).click();
    await expect(notice(page)).toHaveText("1 job requeued. Attempts start over.");
    await settled(api, integration, "dead_letters", 1);
  });

  test("sees an integration without pause, re-sync and the form of limits", async ({ console: page, api, app, receiver }) => {
    const integration = await inSync(api, app, receiver, products(1));
    await open(page, `/integrations/${integration.id}`);
    await expect(card(page, "Settings")).toBeVisible();
    await expect(card(page, "Edit limits")).toHaveCount(0);
    await expect(page.getByRole("button", { name: /Pause|Re-sync/ })).toHaveCount(0);
    await expectWellMade(page);
  });
});

test("support is refused the confirmation of a purge", async ({ page, sessions, api, app, receiver }) => {
  await enter(page, "support", sessions);
  const integration = await deadLetters(api, app, receiver, products(1));
  await page.goto("/dead-letters?confirm=purge");
  await expect(page.getByText("Not allowed for your role")).toBeVisible();
  await expect(page.getByRole("button", { name: /Purge/ })).toHaveCount(0);
  const answer = await press(page, "/console/bulk", { subject: "dead_letters", action: "purge", query: "error=400", back: "/dead-letters" });
  expect(answer).toMatch(/notice=forbidden/);
  expect((await api.status(integration)).dead_letters).toBe(1);
});

test.describe("auditor", () => {
  test.use({ role: "auditor" });

  test("opens every page and is offered no action", async ({ console: page, api, app, receiver }) => {
    const integration = await deadLetters(api, app, receiver, products(1));
    const job = await jobOf(api, integration, "sku-1");
    for (const path of ["/", "/integrations", `/integrations/${integration.id}`, "/jobs", `/jobs/${job.id}`, "/dead-letters", "/operations", "/failures", "/resyncs", "/workers", "/rate-limits", "/records", "/audit-log", "/settings", "/settings?show=api-keys"]) {
      await open(page, path);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      // The columns are the user's own choice, as the theme is.
      await expect(page.getByRole("main").locator("form[method=post]:not([action$='/job-columns'])"), path).toHaveCount(0);
      // Operations are named by their action.
      const actions = page.getByRole("main").getByRole("link", { name: /^(Requeue|Purge|Cancel)\b/ }).and(page.locator(":not([href^='/operations/'])"));
      await expect(actions, path).toHaveCount(0);
      await expect(page.getByRole("checkbox"), path).toHaveCount(0);
    }
    await expectWellMade(page);
    await open(page, "/wall");
    await expect(page.getByRole("heading", { level: 1, name: "Wallboard" })).toBeVisible();
    // The theme is the user's own choice.
    await expect(page.getByRole("main").getByRole("button")).toHaveText([/^$/]);
  });
});

test("the program refuses an auditor whatever the page offers", async ({ page, sessions, api, app, receiver }) => {
  await enter(page, "auditor", sessions);
  const integration = await deadLetters(api, app, receiver, products(1));
  const job = await jobOf(api, integration, "sku-1");
  for (const [call, fields] of [
    ["requeue-job", { id: job.id }],
    ["cancel-job", { id: job.id }],
    ["bulk", { subject: "dead_letters", action: "purge", query: "error=400" }],
    ["pause-integration", { id: integration.id }],
    ["start-resync", { id: integration.id, mode: "full" }],
    ["edit-limits", { id: integration.id, "limits[max_concurrency]": "1" }],
  ] as const) {
    expect(await press(page, `/console/${call}`, { ...fields, back: "/" }), call).toMatch(/notice=forbidden/);
  }
  expect((await api.status(integration)).dead_letters).toBe(1);
  expect(await api.integration(integration.id)).toMatchObject({ state: "active", max_concurrency: 50 });

  await page.goto("/?notice=forbidden");
  await expect(page.getByRole("alert")).toHaveText("Your role does not allow that.");
  const refused = await page.goto("/jobs?confirm=requeue&status=failed");
  expect(refused?.status()).toBe(403);
  await expect(page.getByText("Not allowed for your role")).toBeVisible();
});

test("a form sent by another site is refused", async ({ page, sessions, api, app, receiver }) => {
  await enter(page, "operator", sessions);
  const integration = await inSync(api, app, receiver, []);
  const answer = await page.request.post("/console/pause-integration", {
    form: { id: integration.id, back: "/" },
    headers: { origin: "https://evil.test" },
    maxRedirects: 0,
  });
  expect(answer.status()).toBe(403);
  expect((await api.integration(integration.id)).state).toBe("active");
});

/** Sends the form as the page would, and returns the address of the redirect. */
async function press(page: Page, path: string, form: Record<string, string>): Promise<string> {
  // As a browser without a script sends a form.
  const headers = { origin: BASE_URL, accept: "text/html" };
  const answer = await page.request.post(path, { form, headers, maxRedirects: 0 });
  return answer.headers()["location"] ?? `status ${answer.status()}`;
}
