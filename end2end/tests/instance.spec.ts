// A deployment with a name and a colour: people see which one they are about to change.
import { port } from "../fixtures/environment";
import { expectWellMade } from "../fixtures/page_checks";
import { Program } from "../fixtures/program";
import { expect, hydrated, signIn, test } from "../fixtures/test";

const PERSON = { email: "ops@example.test", password: "a long enough password" };

test("its name is in side bar and titles, its colour along the top and in the icon", async ({ page }) => {
  const program = await Program.start(port(5), {
    HEADGATE_INSTANCE: "EU production#c0392b",
    HEADGATE_ADMIN_EMAIL: PERSON.email,
    HEADGATE_ADMIN_PASSWORD: PERSON.password,
  });
  try {
    await page.goto(`${program.url}/sign-in`);
    await expect(page).toHaveTitle("Sign in · EU production · Headgate");
    await expect(page.getByRole("main")).toContainText("EU production");
    await signIn(page, PERSON);
    await hydrated(page);
    await expect(page).toHaveTitle("Overview · EU production · Headgate");
    await expect(page.getByRole("navigation", { name: "Main" }).getByText("EU production")).toBeVisible();
    await expect(page.locator("svg.band rect")).toHaveAttribute("fill", "#c0392b");
    await expect(page.locator("link[rel=icon]")).toHaveAttribute("href", /^data:image\/svg\+xml,.*stroke='%23c0392b'/);
    await expectWellMade(page);
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Jobs" }).click();
    await expect(page).toHaveTitle("Jobs · EU production · Headgate");
  } finally {
    await program.stop();
  }
});
