import type { Fault } from "../../platform/http-request.ts";

/** As much as Node takes; a head without end must not fill the memory. */
const headBytesMax = 16 * 1024;

/**
 * Where the blank line behind a head begins; undefined while it has not come, and a fault where no head can become of these
 * bytes. Only the last of them, as many as are new, have not been looked at.
 */
export function headEndIn(bytes: Buffer, newBytes: number): number | Fault | undefined {
  const from = Math.max(0, bytes.length - newBytes - 3);
  const end = bytes.indexOf(blankLine, from);
  if (end > headBytesMax || (end === -1 && bytes.length > headBytesMax)) return headTooLarge;
  if (end !== -1) return end;
  return isHeadSoFar(bytes, from) ? undefined : notHttp;
}

/** What is no head is told at once: nobody knows whether more of it will come. */
function isHeadSoFar(bytes: Buffer, from: number): boolean {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at - 1] !== CR) return false;
  }
  return true;
}

const blankLine = Buffer.from("\r\n\r\n");
const CR = 0x0d;
const LF = 0x0a;

export const notHttp: Fault = { code: "invalid_parameters", message: "the request is not valid HTTP/1.1" };
const headTooLarge: Fault = {
  code: "headers_too_large",
  message: `the head of the request is larger than ${headBytesMax / 1024} KiB`,
};
