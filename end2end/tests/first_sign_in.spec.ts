// A program that nobody has signed in to yet prints a link that lets the first person in, once.
import { PORT } from "../fixtures/environment";
import { expectWellMade } from "../fixtures/looks";
import { Program } from "../fixtures/program";
import { expect, hydrated, test } from "../fixtures/test";

test("the printed link signs in once", async ({ page, browser }) => {
  const program = await Program.start(String(Number(PORT) + 10_000), {});
  try {
    const link = /http:\/\/\S+\/sign-in\/link\/\S+/.exec(program.log())?.[0];
    expect(link, "the link stands in what the program prints").toBeTruthy();
    await page.goto(link ?? "");
    await expect(page.getByRole("heading", { level: 1, name: "Overview" })).toBeVisible();
    await expect(page).toHaveURL(`${program.url}/`);
    await hydrated(page);
    await expect(page.getByText("No integrations yet").first()).toBeVisible();
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Jobs" }).click();
    await expect(page.getByText("No jobs yet")).toBeVisible();
    await expectWellMade(page);

    const other = await (await browser.newContext()).newPage();
    await other.goto(link ?? "");
    await expect(other.getByRole("alert")).toContainText("used already");
    await other.context().close();
  } finally {
    await program.stop();
  }
});
