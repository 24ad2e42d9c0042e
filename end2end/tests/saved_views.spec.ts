// Saved views: private or shared, pinned with a maintained count, with a threshold that alerts.
import { deadLetters, products } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { card, notice, rows } from "../fixtures/parts";
import { enter, expect, hasJavaScript, hydrated, open, openUntil, test } from "../fixtures/test";
import type { Page } from "@playwright/test";

type View = { id: string; name: string };

/** Deletes the views: a key cannot list those of users, so each journey deletes its own. */
async function clean(page: Page): Promise<void> {
  const list = (await (await page.request.get("/api/v1/saved-views")).json()) as { items: View[] };
  for (const view of list.items) await page.request.delete(`/api/v1/saved-views/${view.id}`, { headers: { "sec-fetch-site": "same-origin" } });
}

function views(page: Page) {
  return page.getByRole("navigation", { name: "Saved views" });
}

/** Opens details, from the outermost inwards, and repeats it: a load of the list that was under way closes them again. */
async function unfold(page: Page, ...summaries: string[]): Promise<void> {
  await expect(async () => {
    for (const text of summaries) {
      const summary = page.getByText(text, { exact: true });
      const fold = page.locator("details").filter({ has: summary }).last();
      if ((await fold.getAttribute("open", { timeout: 1_000 })) === null) await summary.click({ timeout: 1_000 });
      await expect(fold).toHaveAttribute("open", /.*/, { timeout: 1_000 });
    }
  }).toPass({ timeout: 20_000 });
}

async function save(page: Page, name: string, more: { alertAt?: number; shared?: boolean; pinned?: boolean } = {}): Promise<void> {
  await hydrated(page);
  await unfold(page, "Save this view");
  await page.getByLabel("View name").fill(name);
  if (more.alertAt) await page.getByLabel("Alert at this many jobs").fill(String(more.alertAt));
  await page.getByLabel("Pinned, with a live count").setChecked(more.pinned ?? true);
  await page.getByLabel("Shared with all users").setChecked(more.shared ?? false);
  await page.getByRole("button", { name: "Save view" }).click();
}

test("a view is saved, counted, found again, changed and deleted", async ({ console: page, api, app, receiver }) => {
  await clean(page);
  const integration = await deadLetters(api, app, receiver, products(3));
  await open(page, `/jobs?integration_id=${integration.id}&status=failed&columns=app,error&limit=2`);
  await save(page, "Rejected here");
  await expect(notice(page)).toHaveText("View saved.");
  const chip = views(page).getByRole("link", { name: /Rejected here/ });
  await expect(chip).toHaveAttribute("aria-current", "page");
  // An unknown count is not zero; then it is the number of the list.
  await expect(chip).not.toContainText(/\b0\b/);
  await openUntil(page, "/jobs", () => expect(chip).toContainText(/Rejected here\s*3/, { timeout: 1_000 }));
  await expect(chip).toContainText(/ago|just now/);
  await expectWellMade(page);
  await chip.click();
  await expect(page).toHaveURL(/columns=app%2Cerror/);
  await expect(page.getByText("2 of 3 jobs shown")).toBeVisible();

  await hydrated(page);
  await unfold(page, "Change the view “Rejected here”");
  await expectWellMade(page);
  await page.getByLabel("View name").fill("Refused");
  await page.getByLabel("Pinned, with a live count").uncheck();
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(notice(page)).toHaveText("View changed.");
  await expect(views(page).getByRole("link", { name: /^Refused$/ })).toBeVisible();
  await hydrated(page);
  await unfold(page, "Change the view “Refused”", "Delete this view");
  await page.getByRole("button", { name: "Delete view" }).click();
  await expect(notice(page)).toHaveText("View deleted. Jobs are not affected.");
  await expect(page.getByRole("link", { name: /Refused/ })).toHaveCount(0);
  await expect(rows(page, "Jobs")).toHaveCount(2);
});

test("a threshold alerts on the list, on the overview and in the feed", async ({ console: page, api, app, receiver }) => {
  await clean(page);
  const integration = await deadLetters(api, app, receiver, products(2));
  await open(page, `/jobs?integration_id=${integration.id}&status=failed`);
  const name = `Alarm of ${app.name}`;
  await save(page, name, { alertAt: 2, shared: true });
  const chip = views(page).getByRole("link", { name: new RegExp(name) });
  await openUntil(page, "/jobs", () => expect(chip).toContainText("Alert", { timeout: 1_000 }));
  await expect(chip).toContainText("alerts at 2");
  await expectWellMade(page);
  await open(page, "/");
  const attention = card(page, "Needs attention");
  await expect(attention).toContainText(name);
  await expect(attention).toContainText("2 jobs match, alert at 2.");
  await expect(attention).not.toContainText("Nothing needs attention");
  await expect(card(page, "Recent activity")).toContainText(`“${name}” reached its threshold`);
  await expectWellMade(page);
  await attention.getByRole("link", { name: `See jobs of ${name}` }).click();
  await expect(page).toHaveURL(new RegExp(`integration_id=${integration.id}`));
  await expect(rows(page, "Jobs")).toHaveCount(2);
  await clean(page);
  await open(page, "/");
  await expect(card(page, "Recent activity")).toContainText(`“${name}” no longer alerts`);
});

test("faults of a view are shown at their fields, and typed values are kept", async ({ console: page, app }) => {
  await clean(page);
  await open(page, `/jobs?app_id=${app.id}`);
  await save(page, "Twice");
  await expect(notice(page)).toHaveText("View saved.");
  await open(page, `/jobs?app_id=${app.id}&status=failed`);
  await save(page, "twice", { alertAt: 7, shared: true, pinned: false });
  await expect(page.getByText("is the name of another view of the same owner")).toBeVisible();
  await expect(page.getByLabel("View name")).toHaveValue("twice");
  await expect(page.getByLabel("Alert at this many jobs")).toHaveValue("7");
  await expect(page.getByLabel("Shared with all users")).toBeChecked();
  await expect(page.getByLabel("Pinned, with a live count")).not.toBeChecked();
  await expectWellMade(page);
  await clean(page);
});

test.describe("somebody else", () => {
  test("sees shared views, pins them, and changes none", async ({ browser, console: page, app, sessions }) => {
    await clean(page);
    await open(page, `/jobs?app_id=${app.id}`);
    await save(page, "For all", { shared: true, pinned: false });
    await expect(notice(page)).toHaveText("View saved.");
    await open(page, `/jobs?app_id=${app.id}&status=pending`);
    await save(page, "For me");
    await expect(notice(page)).toHaveText("View saved.");
    const context = await browser.newContext({ javaScriptEnabled: hasJavaScript(), baseURL: new URL(page.url()).origin });
    const other = await context.newPage();
    await enter(other, "support", sessions);
    await open(other, `/jobs?app_id=${app.id}`);
    await expect(views(other).getByRole("link", { name: /For all/ })).toBeVisible();
    await expect(views(other).getByRole("link", { name: /For me/ })).toHaveCount(0);
    await expect(other.getByText(/Change the view/)).toHaveCount(0);
    await other.getByRole("button", { name: "Pin this view" }).click();
    await expect(notice(other)).toContainText("View pinned.");
    await expect(other.getByRole("button", { name: "Unpin this view" })).toBeVisible();
    await expectWellMade(other);
    await context.close();
    await clean(page);
  });
});

test("the palette finds a view by its name", async ({ console: page, app }) => {
  test.skip(!hasJavaScript(), "the palette needs a script");
  await clean(page);
  await open(page, `/jobs?app_id=${app.id}`);
  await save(page, "Morning round");
  await expect(notice(page)).toHaveText("View saved.");
  await open(page, "/");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("morning");
  await page.getByRole("option", { name: /Morning round/ }).click();
  await expect(page).toHaveURL(new RegExp(`/jobs\\?app_id=${app.id}`));
  await clean(page);
});
