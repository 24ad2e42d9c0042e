// The console's words. Phrases that native readers stopped at, and second names of one thing, do not come back.
import type { Page } from "@playwright/test";
import { deadLetters, failedJob, jobOf, products, settled } from "../fixtures/data";
import { row } from "../fixtures/parts";
import { expect, open, openUntil, test } from "../fixtures/test";

/** Compared without regard to case. A phrase is listed once no page says it any more. */
const BANNED = [
  "add up:", "not at all", "narrowed by", "withdraw it", "goes out whole", "go out again", "in vain", "for its turn",
  "at full width", "ticked", "so many jobs on", "alerts from", "steered", "the rate of then", "whose time has come",
  "controlled its circuit", "controlled the breaker", "circuit breaker", "circuit closed",
  "requeue all failed", "requeued with all attempts", "requeued many", "purged many", "edit and retry", "order key",
  "the secrets of", "was refused at sign-in",
  "are held and can be", "nothing is changed yet", "what is done stays done", "jobs tried since", "stopped for good",
  "kept and wait", "the next request on", "worked on in the background", "done again", "on our side",
  "the cause is in the log", "the database does not answer", "somebody else", "changed meanwhile", "no page has this address",
  "this address is not valid", "not for your role", "follow it",
  "none found so far", "no index serves", "no line matches", "lines shown", "line shown",
  "what they answered", "no answer came", "request and answer", "last answer\n", "answers by", "body cut at",
  "given up", "how long it takes", "nothing measured", "took at most as long", "that were not done", "peak of each",
  "many fail", "nothing needs you", "wait for you", "which integrations", "each column sorts", "most attention first",
  "they answered 429 below", "more of it used", "if the limit were", "in how many seconds",
  "seconds of quiet before", "longest wait in", "applies as well", "time-out", "at most, per second",
  "failures in a row", "concurrency for now", "requeued here", "count from 1 again", "states between",
  "state then", "open the list", "what happened", "sends the catalog", "the whole catalog",
  "what is not in sync", "everything people and keys", "last purged first", "gone for good", "deleted for good",
  "latest start first", "side by side", "adds up", "open circuits", "jobs of lost leases", "the rest of deleted",
];

test("no page says what native readers stopped at", async ({ console: page, api, app, receiver }) => {
  // Forty pages.
  test.slow();
  const dead = await deadLetters(api, app, receiver, products(2), { more: { rate_limit: { requests: 600, per_seconds: 60 } } });
  const job = await jobOf(api, dead, "sku-1");
  const { id: own } = await failedJob(api, app, receiver, { day: "2026-11-20" });
  receiver.answer = { status: 503, body: "upstream is out of order" };
  const down = await api.createIntegration(app, "Warehouse", receiver.url);
  await api.sendEvents(app, products(2, "crate"));
  await settled(api, down, "to_be_retried", 2);
  await api.resync(down);
  const waiting = await jobOf(api, down, "crate-1");
  await openUntil(page, "/integrations", () => expect(row(page, "Integrations", "Warehouse")).toBeVisible({ timeout: 1_000 }));

  for (const path of [
    "/", "/wall", "/integrations", "/integrations?group=app", "/integrations?name=none-of-this-name",
    `/integrations/${dead.id}`, `/integrations/${down.id}`,
    "/jobs", "/jobs?status=failed&ticked=page", `/jobs?integration_id=${dead.id}&error=none-of-this-text`, `/jobs/${job.id}`, `/jobs/${own}`, `/jobs/${own}?edit=1&revealed=1`,
    `/jobs/${waiting.id}`, `/jobs/${waiting.id}?confirm=cancel`, "/records", "/records?q=sku-1", "/records?q=none-of-this-id",
    "/failures", "/failures?state=all", "/dead-letters", "/dead-letters?error=none-of-this-text", "/dead-letters?show=bin",
    "/dead-letters?confirm=requeue", "/dead-letters?confirm=purge", "/operations", "/resyncs", "/rate-limits", "/rate-limits?as=numbers",
    `/rate-limits?edit=${dead.id}`, "/workers", "/settings?show=users", "/settings?show=users&new=user", "/settings?show=api-keys",
    "/settings?show=api-keys&new=key", "/settings?show=retention", "/audit-log", "/audit-log?actor_name=nobody-of-this-name",
    "/?notice=held&count=120", "/jobs?notice=requeued&count=2", "/integrations?notice=limits-saved", "/integrations?notice=others-changed",
  ]) {
    await open(page, path);
    const said = await words(page);
    expect(BANNED.filter((phrase) => said.includes(phrase)), path).toEqual([]);
  }
});

/** All that a reader sees or hears, in lower case: the text with its folded parts, and labels, tooltips and placeholders. */
async function words(page: Page): Promise<string> {
  return page.evaluate(() => {
    Array.from(document.querySelectorAll("details")).forEach((fold) => (fold.open = true));
    const dialogs = Array.from(document.querySelectorAll("dialog")).map((dialog) => dialog.textContent);
    const spoken = ["aria-label", "title", "placeholder"].flatMap((name) =>
      Array.from(document.querySelectorAll(`[${name}]`)).map((element) => element.getAttribute(name)),
    );
    return [document.body.innerText, ...dialogs, ...spoken].join("\n").toLowerCase();
  });
}
