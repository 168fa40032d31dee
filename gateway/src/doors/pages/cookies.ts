/** What a browser remembers for us, by name. */
export function cookiesOf(request: Request): ReadonlyMap<string, string> {
  const pairs = (request.headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  return new Map(
    pairs.flatMap((pair) => {
      const at = pair.indexOf("=");
      return at === -1 ? [] : [[pair.slice(0, at), pair.slice(at + 1)]];
    }),
  );
}
