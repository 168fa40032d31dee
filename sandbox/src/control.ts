// The test's own door: read and clear the book, add, list and clear faults, let the
// platform's tokens run out, let it lie about who it is.

import type { Book } from "./book.ts";
import { readFault, type Faults } from "./faults.ts";
import { encode, respond } from "./faulty-answer.ts";
import { parseObject } from "./vendor.ts";
import type { X } from "./vendors/x/x.ts";

interface ControlCall {
  readonly request: Request;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly book: Book;
  readonly faults: Faults;
  readonly x: Pick<X, "expire" | "claimIssuer">;
  readonly controlToken: string | undefined;
}

export async function answerControl({
  request,
  path,
  query,
  book,
  faults,
  x,
  controlToken,
}: ControlCall): Promise<Response> {
  if (controlToken !== undefined && request.headers.get("x-sandbox-control") !== controlToken) {
    return json(403, { error: "x-sandbox-control is missing or wrong" });
  }

  const vendor = query.get("vendor");
  switch (`${request.method} ${path}`) {
    case "GET /book":
      return json(200, book.read(vendor === null ? {} : { vendor }));
    case "DELETE /book":
      book.clear();
      return done();
    case "GET /faults":
      return json(200, { faults: faults.list() });
    case "DELETE /faults":
      faults.clear();
      return done();
    case "POST /faults": {
      const fault = readFault(parseObject(await request.text()));
      if (typeof fault === "string") return json(400, { error: fault });
      faults.add(fault);
      return done();
    }
    case "POST /x/expire": {
      const tokens = parseObject(await request.text())?.["tokens"];
      if (tokens !== "access" && tokens !== "all")
        return json(400, { error: "tokens must be access or all" });
      return json(200, { expired: x.expire(tokens) });
    }
    case "POST /x/issuer": {
      const issuer = parseObject(await request.text())?.["iss"];
      if (typeof issuer !== "string") return json(400, { error: "iss must be a string" });
      x.claimIssuer(issuer);
      return done();
    }
    default:
      return json(404, { error: `no control ${request.method} ${path}` });
  }
}

const json = (status: number, body: unknown): Response => respond(status, encode(body));
const done = (): Response => new Response(null, { status: 204 });
