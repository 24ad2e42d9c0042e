// How soon a page shows a change, from before it was sent until it is on the screen. Database, program and browser have one clock here.
//
// The figures are told in the report. They are held against what is promised where HEADGATE_TEST_SPEED=1 says that the machine is this
// journey's alone; elsewhere they say more about the machine.
import type { Locator } from "@playwright/test";
import { collecting, jobOf, products } from "../fixtures/data";
import { card, tile } from "../fixtures/parts";
import { expect, open, openUntil, test } from "../fixtures/test";

/** One after the other they take seconds: several samples. */
const CHANGES = 200;

test("numbers of the deployment", async ({ console: page, api, app, receiver }) => {
  await collecting(api, app, receiver, products(1));
  await openUntil(page, "/", () => expect(tile(page, "Backlog")).toHaveText("1", { timeout: 1_000 }));
  const last = 1 + CHANGES;
  const shown = tile(page, "Backlog").evaluate(
    (figure, last) =>
      new Promise<[number, number][]>((told) => {
        const seen: [number, number][] = [];
        const look = () => {
          const n = Number(figure.textContent);
          if (n !== seen.at(-1)?.[0]) seen.push([n, Date.now()]);
          if (n === last) told(seen);
          else requestAnimationFrame(look);
        };
        look();
      }),
    last,
  );
  // One after the other, whatever the page shows: at every moment between two samples.
  const sent: number[] = [];
  for (let n = 2; n <= last; n++) {
    sent.push(Date.now());
    await api.sendEvents(app, products(1, `next-${n}`));
  }
  const seen = await shown;
  const waits = sent.map((at, i) => (seen.find(([n]) => n >= i + 2)?.[1] ?? Number.NaN) - at);
  promised(waits, { p50: 500, p99: 1_500 });
});

test("the job that a page is about", async ({ console: page, api, app, receiver }) => {
  const integration = await collecting(api, app, receiver, products(1));
  const job = await jobOf(api, integration, "sku-1");
  await open(page, `/jobs/${job.id}`);
  const verdict = card(page, "Verdict");
  // Once, so that the stream is open.
  await untilShown(verdict, "Cancelled", () => api.call("POST", `/jobs/${job.id}/cancel`));
  const waits: number[] = [];
  for (let n = 0; n < 15; n++) {
    const [action, shown] = n % 2 === 0 ? ["requeue", "paused"] : ["cancel", "Cancelled"];
    waits.push(await untilShown(verdict, shown, () => api.call("POST", `/jobs/${job.id}/${action}`)));
  }
  promised(waits, { p95: 100 });
});

/** Milliseconds from before the change is sent to the frame after the text is there. */
async function untilShown(where: Locator, text: string, change: () => Promise<unknown>): Promise<number> {
  const shown = where.evaluate(
    (element, text) =>
      new Promise<number>((told) => {
        const look = () => (element.textContent?.includes(text) ? told(Date.now()) : requestAnimationFrame(look));
        look();
      }),
    text,
  );
  const begun = Date.now();
  await change();
  return (await shown) - begun;
}

/** Told, and asserted where the machine is ours. */
function promised(waits: number[], bounds: Record<string, number>): void {
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
