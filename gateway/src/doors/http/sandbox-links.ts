import type { Offer } from "../../offer/offer.ts";

/** Links the sandbox gives to people and clients are served under our own address, so that they work as pasted. */
export async function followSandboxLink(
  request: Request,
  path: string,
  offer: Offer,
): Promise<Response | undefined> {
  if (offer.sandboxUrl === undefined || request.method !== "GET") return undefined;
  const link = path.slice("/sandbox/".length);
  if (!/^[\w-]+(\/[\w.-]+)*$/.test(link) || link.includes("..")) return undefined;
  const response = await fetch(`${offer.sandboxUrl}/public/${link}`, { redirect: "manual" });
  const contentType = response.headers.get("content-type") ?? "application/octet-stream";
  return new Response(response.body, { status: response.status, headers: { "content-type": contentType } });
}
