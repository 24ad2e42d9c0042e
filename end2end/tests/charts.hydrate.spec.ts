// One moment, all charts: pointer and keys.
import { card } from "../fixtures/parts";
import { expect, open, test } from "../fixtures/test";

test("arrow keys on one chart move the readout of every chart", async ({ console: page }) => {
  await open(page, "/");
  const [done, stood] = [card(page, "Delivered and failed"), card(page, "Backlog")];
  const slider = done.getByRole("slider");
  await slider.focus();
  await expect(page.locator(".readout")).toHaveCount(0);
  await page.keyboard.press("ArrowLeft");
  await expect(page.locator(".readout")).toHaveCount(2);
  const last = await time(done);
  expect(await time(stood)).toBe(last);
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => time(done)).not.toBe(last);
  expect(await time(stood)).toBe(await time(done));
  await expect(slider).toHaveAttribute("aria-valuetext", /^\d\d:\d\d · .* delivered/);
  await page.keyboard.press("Home");
  await expect(slider).toHaveAttribute("aria-valuenow", "0");
  await page.keyboard.press("Escape");
  await expect(page.locator(".readout")).toHaveCount(0);
});

test("charts of different steps follow the pointer to the same moment", async ({ console: page }) => {
  await open(page, "/?window=15m");
  const [done, stood] = [card(page, "Delivered and failed"), card(page, "Backlog")];
  const box = await done.getByRole("slider").boundingBox();
  if (!box) throw new Error("the chart has no place");
  await page.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2);
  await expect(page.locator(".readout")).toHaveCount(2);
  expect((await time(done)).slice(0, 5)).toBe(await time(stood));
  await page.mouse.move(5, 5);
  await expect(page.locator(".readout")).toHaveCount(0);
});

async function time(chart: ReturnType<typeof card>): Promise<string> {
  return (await chart.locator(".readout").innerText()).split(" · ")[0] ?? "";
}
