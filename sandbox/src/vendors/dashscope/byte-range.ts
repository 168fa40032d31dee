// The part of a file that a Range header asks for (RFC 9110 §14): players need it to jump.

interface Slice {
  readonly status: 200 | 206 | 416;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A range that is malformed, or several at once, is as good as none: the whole file is a right answer. */
export function sliceOf(file: Uint8Array<ArrayBuffer>, range: string | null): Slice {
  const accepts = { "accept-ranges": "bytes" };
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(range ?? "") ?? [];
  if (first === "" && last === "") return { status: 200, headers: accepts, bytes: file };
  if (first !== "" && last !== "" && Number(first) > Number(last)) {
    return { status: 200, headers: accepts, bytes: file };
  }

  const { length } = file;
  const start = first === "" ? Math.max(0, length - Number(last)) : Number(first);
  const end = first === "" || last === "" ? length : Math.min(length, Number(last) + 1);
  if (start >= end) {
    return {
      status: 416,
      headers: { ...accepts, "content-range": `bytes */${length}` },
      bytes: new Uint8Array(),
    };
  }
  return {
    status: 206,
    headers: { ...accepts, "content-range": `bytes ${start}-${end - 1}/${length}` },
    bytes: file.subarray(start, end),
  };
}
