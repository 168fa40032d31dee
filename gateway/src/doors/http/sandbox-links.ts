import type { Offer } from "../../offer/offer.ts";

/** Links the sandbox gives to people and clients are served under our own address, so that they work as pasted. */
export async function followSandboxLink(
  request: Request,
  { path, rawQuery }: { readonly path: string; readonly rawQuery: string },
  offer: Offer,
): Promise<Response | undefined> {
  if (offer.sandboxUrl === undefined || request.method !== "GET") return undefined;
  const link = path.slice("/sandbox/".length);
  if (!/^[\w-]+(\/[\w.-]+)*$/.test(link) || link.includes("..")) return undefined;
  const query = rawQuery === "" ? "" : `?${rawQuery}`;
  const range = request.headers.get("range");
  const response = await fetch(`${offer.sandboxUrl}/public/${link}${query}`, {
    redirect: "manual",
    // Nothing else of the caller's travels: not its key, not its cookies.
    headers: { "accept-encoding": "identity", ...(range === null ? {} : { range }) },
  });
  // Read whole: it is small, and a body that is still coming would be sent without the length that players go by.
  return new Response(await response.arrayBuffer(), {
    status: response.status,
    headers: Object.fromEntries(
      passedOn.flatMap((name) => {
        const value =
          response.headers.get(name) ?? (name === "content-type" ? "application/octet-stream" : null);
        return value === null ? [] : [[name, value]];
      }),
    ),
  });
}

const passedOn = ["content-type", "content-range", "accept-ranges"] as const;
