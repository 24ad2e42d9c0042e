// The overview: whether anything is wrong, where, and until when.
import { collecting, deadLetters, inSync, products, retries } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { card, rows, tile } from "../fixtures/parts";
import { deployed, minute, minuteBefore, recorded } from "../fixtures/past";
import { expect, open, openUntil, test } from "../fixtures/test";

test("an empty deployment says what to do first", async ({ console: page }) => {
  await openUntil(page, "/", async () => {
    await expect(page.getByText("Nothing is connected yet")).toBeVisible({ timeout: 1_000 });
    // Growing failures are checked every ten seconds: those of another journey may be shown until then.
    await expect(card(page, "Needs attention").getByText("No integrations yet")).toBeVisible({ timeout: 1_000 });
  });
  await expect(page.getByRole("link", { name: "API documentation" })).toHaveAttribute("href", "/api/docs");
  await expect(page).toHaveTitle("Overview · Headgate");
  await expectWellMade(page);
});

test("one sentence says that all is well", async ({ console: page, api, app, receiver }) => {
  await inSync(api, app, receiver, products(2));
  await openUntil(page, "/", async () => {
    await expect(page.getByText("Nothing needs attention")).toBeVisible({ timeout: 1_000 });
    await expect(tile(page, "Oldest pending")).toHaveText("–", { timeout: 1_000 });
  });
  await expect(page.getByText("All 2 integrations are in sync or catching up by themselves")).toBeVisible();
  await expect(tile(page, "Dead letters")).toHaveText("0");
  await expectWellMade(page);
});

test("the first row shows real numbers and leads to what it counts", async ({ console: page, api, app, receiver }) => {
  const rejecting = await deadLetters(api, app, receiver, products(2, "bad"), { integration: "Rejecting" });
  await api.pause(rejecting);
  await collecting(api, app, receiver, products(3, "wait"), { integration: "Waiting" });
  await openUntil(page, "/", async () => {
    await expect(tile(page, "Dead letters")).toHaveText("2", { timeout: 1_000 });
    // Both integrations are paused, so each change waits at both.
    await expect(tile(page, "Backlog")).toHaveText("6", { timeout: 1_000 });
  });
  await expect(tile(page, "To be retried")).toHaveText("0");
  await expect(page.getByRole("heading", { name: "Delivered and failed" })).toBeVisible();
  await expectWellMade(page);

  for (const [name, url, heading] of [
    ["Backlog", "/jobs?status=pending", "Jobs"],
    ["Processing", "/jobs?status=processing", "Jobs"],
    ["To be retried", "/jobs?status=to_be_retried", "Jobs"],
    ["Dead letters", "/dead-letters", "Dead letters"],
  ] as const) {
    await open(page, "/");
    await tile(page, name).click();
    await expect(page).toHaveURL(url);
    await expect(page.getByRole("heading", { level: 1, name: heading })).toBeVisible();
  }
});

test("problems come first, worst first, with cause and remedy", async ({ console: page, api, app, receiver }) => {
  await inSync(api, app, receiver, products(1, "fine"), { integration: "Alright" });
  await retries(api, app, receiver, [{ id: "late-1" }], { integration: "Out of order" });
  await openUntil(page, "/", () => expect(page.getByText("upstream is out of order").first()).toBeVisible({ timeout: 1_000 }));
  await expect(page.getByText(/\d of 3 integrations needs? attention/)).toBeVisible();

  await expect(card(page, "Needs attention").getByText("Failing")).toBeVisible();
  await expect(rows(page, "Integrations").first()).toContainText("Out of order");

  await page.getByRole("link", { name: /^attempt 1 / }).click();
  await expect(page).toHaveURL(/\/jobs\?status=to_be_retried/);
  await expect(page.getByRole("region", { name: "Jobs, table" }).getByText("product late-1").first()).toBeVisible();
});

test("an integration is paused where its problem is shown", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, products(1), { integration: "Broken gate" });
  await openUntil(page, "/", () => expect(page.getByRole("button", { name: "Pause Broken gate" })).toBeVisible({ timeout: 1_000 }));
  await page.getByRole("button", { name: "Pause Broken gate" }).click();
  await expect(page.getByRole("status").filter({ hasText: "Paused. Its jobs wait." })).toBeVisible();
  expect((await api.integration(integration.id)).state).toBe("paused");
});

test("the window of the charts is a link, and each chart has its numbers as a table", async ({ console: page, app }) => {
  await openUntil(page, "/", () => expect(page.getByText(`workers`).first()).toBeVisible({ timeout: 1_000 }));
  const windows = page.getByRole("navigation", { name: "Time window" });
  await expect(windows.getByRole("link", { name: "1 h" })).toHaveAttribute("aria-current", "page");
  for (const [name, window, done, stood] of [
    ["15 min", "15m", "per 10 seconds", "peak per minute"],
    ["6 h", "6h", "per 5 minutes", "peak per 5 minutes"],
    ["24 h", "24h", "per 15 minutes", "peak per 15 minutes"],
    ["7 d", "7d", "per 2 hours", "peak per 2 hours"],
  ] as const) {
    await windows.getByRole("link", { name, exact: true }).click();
    await expect(page).toHaveURL(`/?window=${window}`);
    await expect(windows.getByRole("link", { name, exact: true })).toHaveAttribute("aria-current", "page");
    await expect(card(page, "Delivered and failed")).toContainText(done);
    await expect(card(page, "Backlog")).toContainText(stood);
  }
  for (const title of ["Delivered and failed", "Backlog"]) {
    await card(page, title).getByText("View as table").click();
    await expect(card(page, title).getByRole("row")).toHaveCount(85);
    await expect(card(page, title).getByRole("row").nth(1)).toContainText("(running)");
  }
  // Six days ago nothing was recorded, which is not zero.
  await expect(card(page, "Backlog").getByRole("row").nth(70)).toContainText("–");
  expect(app.id).toBeTruthy();
});

test("a tile leads to as many jobs as it shows", async ({ console: page, api, app, receiver }) => {
  const integration = await retries(api, app, receiver, products(3, "late"), { integration: "Slow shop" });
  await openUntil(page, "/", () => expect(tile(page, "To be retried")).toHaveText("3", { timeout: 1_000 }));
  await tile(page, "To be retried").click();
  await expect(rows(page, "Jobs")).toHaveCount(3);
  await api.pause(integration);
  await api.sendEvents(app, products(4, "new"));
  await openUntil(page, "/", () => expect(tile(page, "Backlog")).toHaveText("4", { timeout: 1_000 }));
  const longest = card(page, "Waiting longest");
  await expect(longest).toContainText("Slow shop");
  await expect(longest).toContainText("4 jobs wait");
  await longest.getByRole("link", { name: "Slow shop" }).click();
  await expect(page).toHaveURL(`/jobs?status=pending&integration_id=${integration.id}`);
  await expect(rows(page, "Jobs")).toHaveCount(4);
});

test("events are listed newest first and marked in the charts", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, products(1), { integration: "Night shift" });
  await api.pause(integration);
  await api.resume(integration);
  deployed("77.1.0");
  await open(page, "/");
  const feed = card(page, "Recent activity");
  await expect(feed.getByRole("listitem").nth(0)).toContainText("Headgate 77.1.0 runs for the first time");
  await expect(feed.getByRole("listitem").nth(1)).toContainText("Night shift resumed by");
  await expect(feed.getByRole("listitem").nth(2)).toContainText("Night shift paused by");
  await expect(feed.getByRole("listitem").nth(0).locator("time")).toHaveAttribute("title", /UTC$/);
  for (const title of ["Delivered and failed", "Backlog"]) {
    await card(page, title).getByText("View as table").click();
    await expect(card(page, title).getByRole("cell", { name: /Headgate 77\.1\.0 runs for the first time/ }).first()).toBeVisible();
  }
  await expectWellMade(page);
});

test("the overview of a past minute does not update and has no actions", async ({ console: page, api, app, receiver }) => {
  await retries(api, app, receiver, products(2), { integration: "Yesterday's trouble" });
  const at = recorded({ backlog: 5, yesterday: 2 });
  await open(page, `/?at=${minute(at)}&window=6h`);
  await expect(page.getByText("As it was at")).toBeVisible();
  await expect(page.getByRole("region", { name: "Then", exact: true })).toBeVisible();
  const then = await api.call<{ totals: { backlog: number } }>("GET", `/stats/overview?at=${at.toISOString()}`);
  await expect(page.getByRole("region", { name: "Then" }).locator(".figure").first()).toHaveText(String(then.totals.backlog));
  await expect(page.getByText(/^(Live|Idle|Stale)/)).toHaveCount(0);
  const main = page.getByRole("main");
  await expect(main.locator("form[method=post]"), "actions are off").toHaveCount(0);
  await expect(page.getByRole("region", { name: "Then" }).getByRole("link")).toHaveCount(0);
  await expect(main.getByRole("link", { name: /^attempt/ })).toHaveCount(0);

  // The ghost is described for screen readers.
  const spark = page.getByRole("region", { name: "Then" }).getByRole("img").first();
  await expect(spark).toHaveAccessibleName(/^Last hour: .*5; a day before, dashed: always 2$/);
  await expect(card(page, "Retry pyramid")).toContainText("dashed: a day before");
  await expectWellMade(page);

  const earlier = `/?window=6h&at=${encodeURIComponent(minute(minuteBefore(at)))}`;
  await expect(main.getByRole("link", { name: "One minute earlier" })).toHaveAttribute("href", earlier);
  // A 404 is an error in the browser's console, so it is requested without a page.
  const gap = await page.request.get(earlier);
  expect(gap.status()).toBe(404);
  expect(await gap.text()).toContain(`Nothing was recorded at ${clock(minuteBefore(at))}`);
  expect(await gap.text()).toContain("Nearest: ");
  await main.getByRole("link", { name: "Now", exact: true }).click();
  await expect(page).toHaveURL("/?window=6h");
  await expect(page.getByRole("region", { name: "Now", exact: true })).toBeVisible();
});

test("a minute is chosen by a form", async ({ console: page }) => {
  const at = recorded({ backlog: 5, yesterday: 2 });
  await open(page, "/?window=24h");
  await page.getByText("Go back in time").click();
  await page.getByLabel("Minute (UTC)").fill(minute(at).slice(0, 16));
  await page.getByRole("button", { name: "Show" }).click();
  await expect(page.getByText("As it was at")).toBeVisible();
  await expect(page.locator("time b")).toContainText(clock(at));
  expect(new URL(page.url()).searchParams.get("window")).toBe("24h");
});

test("a minute that is not kept, in the future, or unreadable says so", async ({ console: page }) => {
  for (const [at, status, text] of [
    ["2020-01-01T00:00Z", 404, "Minutes are kept for a day."],
    ["2199-01-01T00:00Z", 404, "That minute is in the future."],
  ] as const) {
    const answer = await page.request.get(`/?at=${at}`);
    expect(answer.status()).toBe(status);
    expect(await answer.text()).toContain(text);
  }
  const answer = await page.request.get("/?at=yesterday");
  expect(answer.status()).toBe(422);
  expect(await answer.text()).toContain("is not a time. Write it as");
});

function clock(at: Date): string {
  return new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", hour: "2-digit", minute: "2-digit" }).format(at);
}
