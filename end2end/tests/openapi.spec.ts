// The program does what its OpenAPI document says: schemathesis generates valid and invalid requests from it and checks the responses.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ADMIN_KEY, port } from "../fixtures/environment";
import { Program } from "../fixtures/program";
import { expect, hasJavaScript, test } from "../fixtures/test";

/** Checked for each response. That generated requests succeed is not: a schema cannot describe the form of a cursor. */
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "unsupported_method",
  "allow_header_conformance",
  "ignored_auth",
];

test("every response is described by the OpenAPI document", async () => {
  test.skip(!hasJavaScript(), "needs no browser, so one run is enough");
  test.setTimeout(600_000);
  const schemathesis = process.env.HEADGATE_TEST_SCHEMATHESIS;
  if (!schemathesis) throw new Error("HEADGATE_TEST_SCHEMATHESIS is not set: `cargo xtask test` installs schemathesis and sets it");
  // A program of its own, because it creates users, keys and apps, and drains workers.
  const program = await Program.start(port(4), { HEADGATE_ADMIN_API_KEY: ADMIN_KEY, HEADGATE_LOG: "warn" });
  const folder = mkdtempSync(join(tmpdir(), "headgate-openapi-"));
  try {
    const run = promisify(execFile)(
      schemathesis,
      [
        ...["run", `${program.url}/api/openapi.json`],
        ...["--header", `Authorization: Bearer ${ADMIN_KEY}`],
        ...["--checks", CHECKS.join(",")],
        ...["--phases", "examples,coverage,fuzzing"],
        // Bounded and reproducible.
        ...["--max-examples", "10", "--seed", "1", "--no-shrink", "--continue-on-failure"],
        ...["--warnings", "off", "--no-color"],
      ],
      { cwd: folder, maxBuffer: 64_000_000 },
    );
    const output = await run.then(
      ({ stdout }) => stdout,
      (failed: { stdout?: string; message: string }) => `FAILED ${failed.message}\n${failed.stdout ?? ""}`,
    );
    expect(output.startsWith("FAILED") ? output : "", "what schemathesis found").toBe("");
    expect(output, "it found the document's operations").toMatch(/Tested: \d\d/);
  } finally {
    await program.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
