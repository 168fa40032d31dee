import { expect, test } from "bun:test";
import { at } from "../../test-sandbox.ts";
import { basic, callback, createRequest, createVisitor } from "./test-visitor.ts";

test("the whole way works through the program's own door, which stays silent about it", async () => {
  const program = Bun.spawn([process.execPath, `${import.meta.dir}/../../main.ts`], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const { value } = await program.stdout.getReader().read();
  const sandbox = String(at(JSON.parse(new TextDecoder().decode(value)), "sandbox"));
  const publicUrl = `${sandbox}/public`;
  const visitor = createVisitor({
    publicUrl,
    fetch: (request) => fetch(new Request(request.url.replace("http://sandbox.test", sandbox), request)),
  });

  const { url, verifier } = createRequest(publicUrl);
  const consent = await visitor.submit(await visitor.open(url), { person: "ada" });
  const { url: back } = await visitor.submit(consent, { decision: "allow" });
  const answer = await fetch(`${sandbox}/x/2/oauth2/token`, {
    method: "POST",
    headers: { authorization: basic },
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code: back.searchParams.get("code") ?? "",
      redirect_uri: callback,
      code_verifier: verifier,
    }),
  });
  const token: unknown = at(await answer.json(), "access_token");
  const me = await fetch(`${sandbox}/x/2/users/me`, {
    headers: { authorization: `Bearer ${String(token)}` },
  });
  expect(await me.json()).toMatchObject({ data: { username: "ada" } });

  program.kill("SIGTERM");
  expect(await program.exited).toBe(0);
  expect(await new Response(program.stderr).text()).toBe("");
});
