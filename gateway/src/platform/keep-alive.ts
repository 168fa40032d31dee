/** Whether a connection stays after a request or an answer of HTTP/1, by what its `Connection` header says. */
export function keepsAlive(connection: string | null | undefined, isHttp10: boolean): boolean {
  if (isHttp10) return connection?.toLowerCase() === "keep-alive";
  return !connection || !closes.test(connection);
}

const closes = /(?:^|,)\s*close\s*(?:,|$)/i;
