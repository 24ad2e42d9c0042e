// A program without any sign-in yet prints a link that signs the first user in, once.
import { port } from "../fixtures/environment";
import { expectWellMade } from "../fixtures/page_checks";
import { Program } from "../fixtures/program";
import { expect, hydrated, test } from "../fixtures/test";

test("the printed link signs in once", async ({ page, browser }) => {
  const program = await Program.start(port(1), {});
  try {
    // The program is ready shortly before it prints the link.
    const printed = () => /http:\/\/\S+\/sign-in\/link\/\S+(?=\n)/.exec(program.log())?.[0];
    await expect.poll(printed, "the program prints the link").toBeTruthy();
    const link = printed();
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
    await expect(other.getByRole("alert")).toContainText("already used");
    await other.context().close();
  } finally {
    await program.stop();
  }
});
