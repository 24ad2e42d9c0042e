// Journeys run twice, with JavaScript and without it; those named *.hydrate.spec.ts run only with it.
import { defineConfig, devices } from "@playwright/test";
import { BASE_URL } from "./fixtures/environment";

export default defineConfig({
  testDir: "./tests",
  globalSetup: "./fixtures/global_setup.ts",
  // Each worker has its own program and database, in which each journey creates its own app.
  workers: 2,
  fullyParallel: false,
  forbidOnly: !!process.env.CI,
  retries: 0,
  timeout: 45_000,
  expect: { timeout: 10_000 },
  reporter: [["list"]],
  use: {
    ...devices["Desktop Chrome"],
    viewport: { width: 1440, height: 900 },
    baseURL: BASE_URL,
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: process.env.HEADGATE_TEST_CHROMIUM ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox",
        // A page lives for seconds: code that is optimised in the background is never used, and takes a sixth of the processor.
        "--js-flags=--liftoff-only",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
  projects: [
    { name: "hydrated" },
    { name: "no JavaScript", testIgnore: /\.hydrate\.spec\.ts$/, use: { javaScriptEnabled: false } },
  ],
});
