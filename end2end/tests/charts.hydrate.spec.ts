// Pointer and arrow keys select the same time in all charts.
import { card } from "../fixtures/parts";
import { expect, open, test } from "../fixtures/test";

test("arrow keys on one chart move the readout of every chart", async ({ console: page }) => {
  await open(page, "/");
  const [delivered, backlog] = [card(page, "Delivered and failed"), card(page, "Backlog")];
  const slider = delivered.getByRole("slider");
  await slider.focus();
  await expect(page.locator(".readout")).toHaveCount(0);
  await page.keyboard.press("ArrowLeft");
  await expect(page.locator(".readout")).toHaveCount(2);
  const last = await time(delivered);
  expect(await time(backlog)).toBe(last);
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => time(delivered)).not.toBe(last);
  expect(await time(backlog)).toBe(await time(delivered));
  await expect(slider).toHaveAttribute("aria-valuetext", /^\d\d:\d\d · .* delivered/);
  await page.keyboard.press("Home");
  await expect(slider).toHaveAttribute("aria-valuenow", "0");
  await page.keyboard.press("Escape");
  await expect(page.locator(".readout")).toHaveCount(0);
});

test("charts of different steps follow the pointer to the same time", async ({ console: page }) => {
  await open(page, "/?window=15m");
  const [delivered, backlog] = [card(page, "Delivered and failed"), card(page, "Backlog")];
  const box = await delivered.getByRole("slider").boundingBox();
  if (!box) throw new Error("the chart is not rendered");
  await page.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2);
  await expect(page.locator(".readout")).toHaveCount(2);
  expect((await time(delivered)).slice(0, 5)).toBe(await time(backlog));
  await page.mouse.move(5, 5);
  await expect(page.locator(".readout")).toHaveCount(0);
});

async function time(chart: ReturnType<typeof card>): Promise<string> {
  return (await chart.locator(".readout").innerText()).split(" · ")[0] ?? "";
}
