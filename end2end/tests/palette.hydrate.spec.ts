// Keyboard shortcuts: the palette jumps to ids, names, pages and actions; j and k move through lists.
import type { Page } from "@playwright/test";
import { deadLetters, inSync, jobOf, products, settled } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { notice, rows } from "../fixtures/parts";
import { expect, open, test } from "../fixtures/test";

test("the palette jumps to a page, to a job by its id, and to an integration by its name", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(1), { integration: "Marketplace EU" });
  const job = await jobOf(api, integration, "sku-1");
  await open(page, "/");
  await page.keyboard.press("Control+k");
  await expect(palette(page)).toBeVisible();
  await expectWellMade(page);
  await page.keyboard.type("re-syncs");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL("/resyncs");
  await expect(palette(page)).toBeHidden();

  await page.getByRole("link", { name: /Jump to/ }).click();
  await page.keyboard.insertText(job.id);
  await expect(palette(page).getByRole("option").first()).toContainText("record.updated");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(`/jobs/${job.id}`);

  await page.keyboard.press("Control+k");
  await search(page, "marketplace", /^Marketplace EU/);
  await expect(palette(page).getByRole("option").first()).toContainText("Marketplace EU");
  await page.keyboard.press("ArrowDown");
  await expect(palette(page).getByRole("option", { selected: true })).toContainText("Jobs of Marketplace EU");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(`/integrations/${integration.id}`);
});

test("the palette pauses an integration and stays on the page", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, [], { integration: "Price feed" });
  await open(page, "/resyncs");
  await page.keyboard.press("Control+k");
  await search(page, "price feed", /^Pause Price feed/);
  await palette(page).getByRole("option", { name: /^Pause Price feed/ }).click();
  await expect(notice(page)).toHaveText("Paused. Its jobs wait.");
  await expect(page).toHaveURL(/\/resyncs/);
  expect((await api.integration(integration.id)).state).toBe("paused");
});

test("a pause is asked for once, and then to be resumed", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, [], { integration: "Price list" });
  // The search knows states as they were last sampled: here always from before the pause.
  let sampled = "";
  await page.route("**/console/find?*", async (route) => {
    if (sampled) return route.fulfill({ contentType: "application/json", body: sampled });
    const answer = await route.fetch();
    const text = await answer.text();
    if (text.includes("Price list")) sampled = text;
    await route.fulfill({ response: answer, body: text });
  });
  let send = () => {};
  const released = new Promise<void>((resolve) => (send = resolve));
  await page.route("**/console/pause-integration", async (route) => {
    await released;
    await route.continue();
  });
  const steps = palette(page).getByRole("option", { name: /^(Pause|Resume) Price list/ });
  await open(page, "/resyncs");
  await page.keyboard.press("Control+k");
  await search(page, "price list", /^Pause Price list/);
  const asked = page.waitForRequest("**/console/pause-integration");
  await steps.click();
  await asked;

  await page.keyboard.press("Control+k");
  await search(page, "price list", /^Jobs of Price list/);
  await expect(steps, "while the first is under way").toHaveCount(0);
  send();
  await expect(steps).toHaveText(/^Resume Price list/);
  await page.keyboard.press("Escape");
  await expect(notice(page)).toHaveText("Paused. Its jobs wait.");
  await page.keyboard.press("Control+k");
  await search(page, "price list", /^Resume Price list/);
  await expect(steps).toHaveCount(1);
  await steps.click();
  await expect(notice(page)).toHaveText("Resumed. Waiting jobs are sent again.");
  expect((await api.integration(integration.id)).state).toBe("active");
});

test("an unknown id offers a search, and Escape changes nothing", async ({ console: page }) => {
  await open(page, "/jobs");
  await page.keyboard.press("Control+k");
  await page.keyboard.insertText("0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7");
  await expect(palette(page).getByRole("option")).toHaveCount(1);
  await expect(palette(page).getByRole("option")).toContainText("Everything about");
  await page.keyboard.press("Escape");
  await expect(palette(page)).toBeHidden();
  await expect(page).toHaveURL("/jobs");
});

test("keys move through rows, select and requeue them, but not while typing in a field", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(3));
  receiver.answer = { status: 200, body: "ok" };
  await open(page, "/dead-letters");
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toContainText("next and previous row");
  await page.keyboard.press("j");
  await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" }), "keys do nothing behind a dialog").toBeVisible();
  await page.keyboard.press("Escape");

  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.keyboard.press("j");
  const second = rows(page, "Dead letters").nth(1);
  await expect(second.locator("a:focus")).toHaveCount(1);
  await page.keyboard.press("x");
  await expect(second.getByRole("checkbox")).toBeChecked();
  await page.keyboard.press("r");
  await expect(notice(page)).toHaveText("1 job requeued. Attempts start over.");
  await settled(api, integration, "dead_letters", 2);

  await page.keyboard.press("/");
  await page.keyboard.type("jx");
  await expect(page.getByRole("search").locator("input:focus")).toHaveValue("jx");
  await page.getByRole("heading", { level: 1 }).click();
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await expect(page).toHaveURL("/integrations");
});

/** Types again until the sampler knows the name. */
async function search(page: Page, text: string, option: RegExp): Promise<void> {
  await expect(async () => {
    await palette(page).getByRole("combobox").fill("");
    await palette(page).getByRole("combobox").fill(text);
    await expect(palette(page).getByRole("option", { name: option }).first()).toBeVisible({ timeout: 1_000 });
  }).toPass({ timeout: 15_000 });
}

function palette(page: Page) {
  return page.getByRole("dialog", { name: "Jump to anything" });
}
