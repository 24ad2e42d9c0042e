// How soon a page shows a change, from before it is sent until it is on the screen. Database, program and browser share one clock.
//
// The report has the measurements. They are compared with the promised bounds only where HEADGATE_TEST_SPEED=1 says that the machine
// runs nothing else; otherwise they say more about the machine.
import type { Locator } from "@playwright/test";
import { collecting, jobOf, products } from "../fixtures/data";
import { card, tile } from "../fixtures/parts";
import { expect, open, openUntil, test } from "../fixtures/test";

/** Enough to take seconds, so that several samples are taken. */
const CHANGES = 200;

test("numbers of the deployment", async ({ console: page, api, app, receiver }) => {
  await collecting(api, app, receiver, products(1));
  await openUntil(page, "/", () => expect(tile(page, "Backlog")).toHaveText("1", { timeout: 1_000 }));
  const last = 1 + CHANGES;
  const shown = tile(page, "Backlog").evaluate(
    (figure, last) =>
      new Promise<[number, number][]>((resolve) => {
        const seen: [number, number][] = [];
        const check = () => {
          const n = Number(figure.textContent);
          if (n !== seen.at(-1)?.[0]) seen.push([n, Date.now()]);
          if (n === last) resolve(seen);
          else requestAnimationFrame(check);
        };
        check();
      }),
    last,
  );
  // One after the other without waiting for the page, so that changes happen at any time between two samples.
  const sent: number[] = [];
  for (let n = 2; n <= last; n++) {
    sent.push(Date.now());
    await api.sendEvents(app, products(1, `next-${n}`));
  }
  const seen = await shown;
  const waits = sent.map((at, i) => (seen.find(([n]) => n >= i + 2)?.[1] ?? Number.NaN) - at);
  reportAndCheck(waits, { p50: 500, p99: 1_500 });
});

test("the job that a page is about", async ({ console: page, api, app, receiver }) => {
  const integration = await collecting(api, app, receiver, products(1));
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs/${job.id}`);
  const verdict = card(page, "Verdict");
  // The first one waits until the stream is open.
  await untilShown(verdict, "Cancelled", () => api.call("POST", `/jobs/${job.id}/cancel`));
  const waits: number[] = [];
  for (let n = 0; n < 15; n++) {
    const [action, shown] = n % 2 === 0 ? ["requeue", "paused"] : ["cancel", "Cancelled"];
    waits.push(await untilShown(verdict, shown, () => api.call("POST", `/jobs/${job.id}/${action}`)));
  }
  reportAndCheck(waits, { p95: 100 });
});

/** Milliseconds from before the change is sent until the frame after the text has appeared. */
async function untilShown(where: Locator, text: string, change: () => Promise<unknown>): Promise<number> {
  const shown = where.evaluate(
    (element, text) =>
      new Promise<number>((resolve) => {
        const check = () => (element.textContent?.includes(text) ? resolve(Date.now()) : requestAnimationFrame(check));
        check();
      }),
    text,
  );
  const begun = Date.now();
  await change();
  return (await shown) - begun;
}

/** Reports percentiles, and asserts them with HEADGATE_TEST_SPEED=1. */
function reportAndCheck(waits: number[], bounds: Record<string, number>): void {
  const sorted = [...waits].sort((a, b) => a - b);
  for (const [name, bound] of Object.entries(bounds)) {
    const share = Number(name.slice(1)) / 100;
    const wait = sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
    const description = `${name} of ${waits.length} changes: ${wait} ms, promised ${bound}`;
    test.info().annotations.push({ type: "speed", description });
    console.log(description);
    if (process.env.HEADGATE_TEST_SPEED === "1") expect(wait, description).toBeLessThanOrEqual(bound);
  }
}
