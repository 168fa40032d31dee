/**
 * What in an address gives access, as it is written and as it is meant: the password, or the name where that stands alone,
 * the two in the one word in which they are sent, and the values of the query.
 */
export function addressSecrets(address: string): string[] {
  const { username, password, searchParams, search } = new URL(address);
  const word = password === "" ? username : password;
  const written = search.slice(1).split("&");
  const secrets = [
    ...(word === "" ? [] : [word, meant(word), sentWord(username, password)]),
    ...written.map((pair) => pair.slice(pair.indexOf("=") + 1)),
    ...searchParams.values(),
  ];
  return [...new Set(secrets)].filter((secret) => secret !== "");
}

/** Without what fills it up at its end, which not everybody repeats. */
const sentWord = (username: string, password: string): string =>
  Buffer.from(`${meant(username)}:${meant(password)}`)
    .toString("base64")
    .replace(/=+$/, "");

function meant(written: string): string {
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}
